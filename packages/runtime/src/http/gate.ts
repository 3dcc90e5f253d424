import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { Socket } from "node:net";
import { problem, sendProblem } from "./problem.ts";
import { hasLeft, socketOf } from "./request-socket.ts";

export interface GateRequest {
  readonly method: string;
  /** Without the query; the route's `reviewedPath` if set; null for an unknown route. */
  readonly path: string | null;
  readonly authorization: string | undefined;
  readonly remoteAddress: string;
  /** Null: the request was made inside this process. */
  readonly socket: Socket | null;
}

export interface Refusal {
  readonly status: 401 | 403 | 429 | 503;
  readonly code: string;
  readonly detail: string;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface PrincipalPod {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
}

/** Proven identity of a request's sender. */
export interface Principal {
  readonly user: string;
  /** Node of the account's pod; null if the token is unbound or doesn't say. */
  readonly node: string | null;
  /** Null if the token isn't bound to a pod. */
  readonly pod: PrincipalPod | null;
}

interface Admission {
  readonly principal: Principal;
}

/** Null: allowed without identification. */
export type GateAnswer = Refusal | Admission | null;

/** Authorises requests before their body is read. Must not reject. */
export interface RequestGate {
  check(request: GateRequest): GateAnswer | Promise<GateAnswer>;
}

const HEALTH_PATHS: ReadonlySet<string> = new Set(["/healthz", "/readyz"]);

declare module "fastify" {
  interface FastifyContextConfig {
    /** Path to authorise instead of the request's own: one review for all values of a parameter. */
    readonly reviewedPath?: string;
    readonly isOpen?: boolean;
  }
  interface FastifyRequest {
    /** Proven sender; null if not identified. */
    principal: Principal | null;
    /** Whether the gate would still allow this request, for long answers. */
    isStillAllowed(): boolean | Promise<boolean>;
  }
}

/** Checks gates before every route except health and open ones. */
export function installGates(app: FastifyInstance, gates: readonly RequestGate[]): void {
  app.decorateRequest("principal", null);
  app.decorateRequest("isStillAllowed", function isStillAllowed(this: FastifyRequest) {
    return gates.length === 0 ? true : ask(gates, this).then((refusal) => refusal === null);
  });
  if (gates.length === 0) return;
  app.addHook("onRequest", async (request, reply) => {
    if (isOpen(request)) return undefined;
    for (const gate of gates) {
      const answer = gate.check(described(request));
      const said = answer instanceof Promise ? await answer : answer;
      if (said === null) continue;
      if (isRefusal(said)) return refuse(reply, said);
      request.principal = said.principal;
    }
    // Nothing would free the places that later hooks give to a client that left while a gate was asked.
    return hasLeft(reply.raw) ? reply.hijack() : undefined;
  });
}

async function ask(gates: readonly RequestGate[], request: FastifyRequest): Promise<Refusal | null> {
  for (const gate of gates) {
    const said = await gate.check(described(request));
    if (said !== null && isRefusal(said)) return said;
  }
  return null;
}

function isRefusal(answer: Refusal | Admission): answer is Refusal {
  return "status" in answer;
}

function isOpen({ routeOptions }: FastifyRequest): boolean {
  return HEALTH_PATHS.has(routeOptions.url ?? "") || routeOptions.config.isOpen === true;
}

function described(request: FastifyRequest): GateRequest {
  const { method, url, routeOptions, headers, ip } = request;
  const known = routeOptions.url !== undefined;
  return {
    method,
    path: known ? (routeOptions.config.reviewedPath ?? pathOf(url)) : null,
    authorization: headers.authorization,
    remoteAddress: ip,
    socket: socketOf(request.raw),
  };
}

function pathOf(url: string): string {
  const query = url.indexOf("?");
  return query === -1 ? url : url.slice(0, query);
}

function refuse(reply: FastifyReply, { status, code, detail, headers = {} }: Refusal): FastifyReply {
  return sendProblem(reply.headers(headers), problem(status, { code, detail }));
}
