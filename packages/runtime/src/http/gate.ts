import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { Socket } from "node:net";
import { problem, sendProblem } from "./problem.ts";
import { hasLeft, socketOf } from "./request-socket.ts";

/** What a gate looks at. */
export interface GateRequest {
  readonly method: string;
  /** Without the query; of a route that names a `reviewedPath` that one, of an unknown route null. */
  readonly path: string | null;
  readonly authorization: string | undefined;
  readonly remoteAddress: string;
  /** Null: the request was made inside this process. */
  readonly socket: Socket | null;
}

/** Why a request goes no further. */
export interface Refusal {
  readonly status: 401 | 403 | 429 | 503;
  readonly code: string;
  readonly detail: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** A pod, as a token that is bound to it says. */
export interface PrincipalPod {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
}

/** Who sends a request: what somebody has proven, never what the request says of itself. */
export interface Principal {
  /** Name of the account, such as system:serviceaccount:NAMESPACE:NAME. */
  readonly user: string;
  /** Node that the account's pod runs on; null: its token is bound to none, or doesn't say. */
  readonly node: string | null;
  /** Null: the token is bound to no pod. */
  readonly pod: PrincipalPod | null;
}

/** The request goes on, and it is known whose it is. */
interface Admission {
  readonly principal: Principal;
}

/** What a gate says of a request. Null: it goes on, and the gate has asked nobody who sends it. */
export type GateAnswer = Refusal | Admission | null;

/** Says who may ask for what, before a body is read. Must not reject. */
export interface RequestGate {
  check(request: GateRequest): GateAnswer | Promise<GateAnswer>;
}

/** Routes by which others look after the server: their answers show nothing of what it knows. */
const HEALTH_PATHS: ReadonlySet<string> = new Set(["/healthz", "/readyz"]);

declare module "fastify" {
  interface FastifyContextConfig {
    /**
     * The path that access is asked for, instead of the request's own: one question for all values of a
     * parameter.
     */
    readonly reviewedPath?: string;
    /** Open to everyone, whatever the gate says. */
    readonly isOpen?: boolean;
  }
  interface FastifyRequest {
    /** Who sends the request, as a gate has proven; null where nobody was asked. */
    principal: Principal | null;
    /** Whether the gate would still let this request in: for answers that last. */
    isStillAllowed(): boolean | Promise<boolean>;
  }
}

/** Asks the gates before every route but those for health and the open ones. */
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
