// Control API routes that a web page may use: links and the load timeline. May be added to several servers.
import { HttpError, problem, sendProblem, type HttpApp, type Refusal } from "@isochrone/runtime/http";
import { createHash, timingSafeEqual } from "node:crypto";
import type { EmulatedNetwork } from "./network/emulated-network.ts";
import { NetworkError, type NetworkErrorCode } from "./network/errors.ts";
import type { LinkChange, LinkSettings } from "./network/links.ts";
import type { LabTimeline } from "./timeline.ts";

interface LinkRequest {
  readonly delayMs?: number;
  readonly jitterMs?: number;
  readonly lossRatio?: number;
  /** Per direction; null: unlimited. */
  readonly bandwidthBitsPerSecond?: number | null;
  readonly cut?: boolean;
  /** Only exchanges that the first node initiates. @default false */
  readonly oneWay?: boolean;
}

export interface LinkAnswer {
  readonly source: string;
  readonly target: string;
  readonly link: LinkSettings;
}

interface LinkState extends LinkAnswer {
  readonly initial: LinkSettings;
}

export interface LinkRoutesOptions {
  readonly network: Pick<EmulatedNetwork, "setLink" | "link">;
  readonly token: string;
  readonly timeline?: LabTimeline | undefined;
}

const BODY_LIMIT_BYTES = 4096;
const LINK_PATH = "/lab/v1/links/:a/:b";
const LINK_REQUEST = {
  type: "object",
  additionalProperties: false,
  minProperties: 1,
  properties: {
    delayMs: { type: "number", minimum: 0 },
    jitterMs: { type: "number", minimum: 0 },
    lossRatio: { type: "number", minimum: 0, maximum: 1 },
    bandwidthBitsPerSecond: { type: ["number", "null"] },
    cut: { type: "boolean" },
    oneWay: { type: "boolean" },
  },
};

const NODE_PAIR = {
  type: "object",
  properties: { a: { type: "string", maxLength: 253 }, b: { type: "string", maxLength: 253 } },
};

interface LinkRoute {
  Params: { a: string; b: string };
}

/** Readable without a token; changes need it. Left out of the server's OpenAPI document. */
const OF_LAB = { config: { isOpen: true } } as const;

/**
 * Adds `GET` and `PUT /lab/v1/links/A/B`, `GET /lab/v1/timeline`, and `GET /lab/v1/token`, which says whether
 * a token is the right one. The token is asked for by the routes
 * themselves, whatever the server's gate is: no browser sends it unasked, as it would a cookie, so that no
 * foreign page can change a link by it.
 */
export async function addLinkRoutes(server: HttpApp, options: LinkRoutesOptions): Promise<void> {
  const { network, token, timeline } = options;
  await server.register(async (app) => {
    const refusalOf = tokenCheck(token);
    const refuseWithoutToken = async (
      request: { readonly headers: { readonly authorization?: string | undefined } },
      reply: Parameters<typeof sendProblem>[0],
    ): Promise<unknown> => {
      const refusal = refusalOf(request.headers.authorization, "changing the emulated network");
      if (refusal === null) return undefined;
      const { status, code, detail, headers = {} } = refusal;
      return sendProblem(reply.headers(headers), problem(status, { code, detail }));
    };
    app.get<LinkRoute>(
      LINK_PATH,
      { ...OF_LAB, schema: { hide: true, params: NODE_PAIR } },
      async (request) => {
        const { a, b } = request.params;
        return asHttp(async (): Promise<LinkState> => {
          const link = network.link(a, b);
          return { source: a, target: b, link, initial: timeline?.initialLink(a, b) ?? link };
        });
      },
    );
    app.put<LinkRoute & { Body: LinkRequest }>(
      LINK_PATH,
      {
        ...OF_LAB,
        bodyLimit: BODY_LIMIT_BYTES,
        schema: { hide: true, body: LINK_REQUEST, params: NODE_PAIR },
        // Before the body is read.
        onRequest: refuseWithoutToken,
      },
      async (request) => {
        const { a, b } = request.params;
        const { oneWay = false, ...change } = request.body;
        const pairs = oneWay ? [[a, b] as const] : [[a, b] as const, [b, a] as const];
        const before = await asHttp(async () => pairs.map(([from, to]) => network.link(from, to)));
        await asHttp(() => network.setLink(a, b, toLinkChange(change), { oneWay }));
        const links = pairs.map(([source, target]): LinkAnswer => {
          return { source, target, link: network.link(source, target) };
        });
        for (const [index, { source, target, link }] of links.entries())
          timeline?.linkChanged(source, target, before[index]!, link);
        return { links };
      },
    );
    const ofToken = { ...OF_LAB, schema: { hide: true }, onRequest: refuseWithoutToken };
    app.get("/lab/v1/token", ofToken, () => ({ isRight: true }));
    app.get("/lab/v1/timeline", { ...OF_LAB, schema: { hide: true } }, () => {
      if (timeline !== undefined) return timeline.report();
      throw new HttpError(404, "no_cluster", "this lab runs a network without a cluster");
    });
  });
}

export function tokenCheck(
  token: string,
): (authorization: string | undefined, what: string) => Refusal | null {
  const expected = digestOf(token);
  return (authorization, what) => {
    const given = /^Bearer +(\S+)$/i.exec(authorization ?? "")?.[1];
    if (given !== undefined && timingSafeEqual(digestOf(given), expected)) return null;
    return {
      status: 401,
      code: "token_needed",
      detail: `${what} needs its token, got ${given === undefined ? "none" : "another one"}; the command reads it as the user that started the lab`,
      headers: { "www-authenticate": "Bearer" },
    };
  };
}

function digestOf(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}

function toLinkChange({ delayMs, ...rest }: Omit<LinkRequest, "oneWay">): LinkChange {
  return { ...rest, ...(delayMs === undefined ? {} : { rttMs: delayMs }) };
}

const STATUS: Readonly<Record<NetworkErrorCode, number>> = {
  invalid_argument: 400,
  unknown_node: 404,
  not_exposed: 404,
  no_addresses: 503,
  relay_down: 503,
  relay_failed: 500,
  invalid_matrix: 400,
};

export async function asHttp<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof NetworkError) throw new HttpError(STATUS[error.code], error.code, error.message);
    throw error;
  }
}
