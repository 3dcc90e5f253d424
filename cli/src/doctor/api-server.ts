import type { Credentials } from "@isochrone/kubernetes/api-server";
import { looseFields, reasonOf } from "@isochrone/primitives";
import { once } from "node:events";
import { request as requestHttp } from "node:http";
import type { IncomingMessage } from "node:http";
import { request as requestHttps } from "node:https";
import { NAME_A_CLUSTER, skipped, verdict } from "./finding.ts";
import type { Verdict } from "./finding.ts";

export interface ApiServerLook {
  readonly source: string;
  readonly server: string | null;
  /** HTTP status; null: no answer. */
  readonly status: number | null;
  readonly gitVersion: string | null;
  readonly dateMs: number | null;
  readonly askedAtMs: number;
  readonly answeredAtMs: number;
  readonly error: string | null;
}

const TIMEOUT_MS = 10_000;
/** First version with stable validating admission policies; the planner's gates need an earlier one. */
const LEAST_MINOR = 30;

export async function lookAtApiServer(
  { credentials, source }: { readonly credentials: Credentials; readonly source: string },
  nowMs: () => number,
): Promise<ApiServerLook> {
  const askedAtMs = nowMs();
  let server: string | null = null;
  const failed = (error: string): ApiServerLook => ({
    source,
    server,
    status: null,
    gitVersion: null,
    dateMs: null,
    askedAtMs,
    answeredAtMs: nowMs(),
    error,
  });
  try {
    const login = await credentials.login();
    server = login.server.origin;
    const response = await answerOf(login, "/version");
    const answeredAtMs = nowMs();
    const body = await bodyOf(response);
    const dateMs = Date.parse(response.headers.date ?? "");
    return {
      source,
      server,
      status: response.statusCode ?? null,
      gitVersion: versionIn(body),
      dateMs: Number.isNaN(dateMs) ? null : dateMs,
      askedAtMs,
      answeredAtMs,
      error: null,
    };
  } catch (error) {
    return failed(reasonOf(error));
  }
}

/** Null: not permitted, or no answer. */
export async function metricsOf(credentials: Credentials): Promise<string | null> {
  try {
    const response = await answerOf(await credentials.login(), "/metrics");
    const body = await bodyOf(response);
    return response.statusCode === 200 ? body : null;
  } catch {
    return null;
  }
}

type Login = Awaited<ReturnType<Credentials["login"]>>;

async function answerOf(login: Login, path: string): Promise<IncomingMessage> {
  const url = new URL(`${login.server.pathname.replace(/\/+$/, "")}${path}`, login.server);
  const request = (url.protocol === "https:" ? requestHttps : requestHttp)(url, {
    ...login.tls,
    headers: login.headers,
    signal: AbortSignal.timeout(TIMEOUT_MS),
    ...(login.agent === undefined ? {} : { agent: login.agent }),
  });
  request.end();
  const [response] = (await once(request, "response")) as [IncomingMessage];
  return response;
}

async function bodyOf(response: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of response) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString();
}

function versionIn(body: string): string | null {
  try {
    const { gitVersion } = looseFields<Record<"gitVersion", unknown>>(JSON.parse(body));
    return typeof gitVersion === "string" ? gitVersion : null;
  } catch {
    return null;
  }
}

/** @param why reason for a missing look */
export function judgeApiServer(look: ApiServerLook | null, why: string): Verdict[] {
  const rule = "it answers and accepts our credentials";
  if (look === null)
    return [
      skipped({
        check: "reachable",
        looked: "GET /version",
        rule,
        why,
        remedy: NAME_A_CLUSTER,
      }),
    ];
  const { source, server, status, error, gitVersion } = look;
  const reach = { check: "reachable", looked: `GET ${server ?? ""}/version by ${source}`, rule };
  if (error !== null)
    return [
      verdict(false, "error", {
        ...reach,
        value: error,
        remedy:
          "Try `kubectl version` with the same kubeconfig; look at its server address, network policies and certificates.",
      }),
    ];
  if (status !== 200)
    return [
      verdict(false, "error", {
        ...reach,
        value: `status ${status}`,
        remedy: "Log in again; `kubectl auth whoami` with the same kubeconfig shows your user.",
      }),
    ];
  const minor = Number(/^v1\.(\d+)/.exec(gitVersion ?? "")?.[1] ?? Number.NaN);
  return [
    verdict(true, "error", { ...reach, value: "answered", remedy: null }),
    verdict(minor >= LEAST_MINOR, "warning", {
      check: "version",
      looked: "gitVersion of GET /version",
      value: gitVersion ?? "not told",
      rule: `1.${LEAST_MINOR} or later, which has the admission policies`,
      remedy:
        "Upgrade the cluster, or install without the policies: then only RBAC limits what the services can change.",
    }),
  ];
}
