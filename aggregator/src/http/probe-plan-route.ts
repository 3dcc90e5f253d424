import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { ProbePlanSchema, ProblemSchema, type ProbePlan } from "@isochrone/topology";
import { Type, type Static } from "typebox";
import { hash53 } from "../domain/hash.ts";
import { KEY_REPORT_HEADER, parseKeyReport, type KeyReport } from "../keys/domain/key-reports.ts";
import type { Plans } from "../probing/domain/probe-plan.ts";
import { AggregatorError } from "../ports/errors.ts";
import type { ProbeAddresses } from "../ports/ports.ts";
import { contentEtag, isUnchanged } from "./etag.ts";
import { registerKeyReportsRoute, type ReportRelay } from "./forward-reports.ts";
import type { LeaderForward } from "./forward.ts";
import { NoQuery } from "./query.ts";

const MAX_RETRY_AFTER_SECONDS = 5;
/** Path for the access review of all plans. */
const PROBE_PLAN_REVIEW = "/v1/probe-plan";

const PlanParams = Type.Object({ node: Type.String({ maxLength: 253 }) });
type PlanParams = Static<typeof PlanParams>;

const PlanHeaders = Type.Object({
  [KEY_REPORT_HEADER]: Type.Optional(
    Type.String({
      maxLength: 256,
      description: "Ids of the keys that the probe holds, and the one that it signs with: 1,2;signing=1",
    }),
  ),
});

export interface PlanSources {
  readonly addresses: ProbeAddresses;
  readonly plans: () => Plans;
  readonly nowMs: () => number;
  /** Null: keys are managed elsewhere. Throws an AggregatorError while unknown. */
  readonly signingKeyId: () => number | null;
  /** Called when a node's probe requests its plan; null: no key report. */
  readonly onReport: (node: string, report: KeyReport | null) => void;
}

interface ReportSharing {
  readonly relay: ReportRelay;
  readonly forward: LeaderForward;
}

/** @param sharing null: this replica is the only one */
export function registerProbePlanRoute(
  app: FastifyInstance,
  own: PlanSources,
  sharing: ReportSharing | null = null,
): void {
  const sources = sharing === null ? own : relaying(own, sharing.relay);
  if (sharing !== null) {
    const isKnown = (node: string): boolean => own.plans().node(node) !== null;
    registerKeyReportsRoute(app, { isKnown, onReport: own.onReport }, sharing.forward);
  }
  app.get<{ Params: PlanParams }>(
    "/api/v1/probe-plan/:node",
    {
      // One review path for all nodes' probes. Not below /api/v1/: a reader's pod runs on some node and must
      // not act as its probe.
      config: { reviewedPath: PROBE_PLAN_REVIEW },
      schema: {
        summary: "Whom a node's probe measures",
        params: PlanParams,
        querystring: NoQuery,
        headers: PlanHeaders,
        response: {
          200: ProbePlanSchema,
          304: Type.Null({ description: "The probe has this plan" }),
          400: ProblemSchema,
          404: ProblemSchema,
          503: ProblemSchema,
        },
      },
    },
    (request, reply) => {
      const { node } = request.params;
      const plan = planText(
        node,
        speaksFor(request, node) ? sources.onReport : null,
        request,
        sources,
        reply,
      );
      const version = contentEtag(plan).slice(1, -1);
      return isUnchanged(request, reply, `"${version}"`) ? reply.send() : sendPlan(reply, version, plan);
    },
  );
}

/** Keeps reports here too, because this replica may lead next. */
function relaying(sources: PlanSources, relay: ReportRelay): PlanSources {
  return {
    ...sources,
    onReport: (node, report) => {
      sources.onReport(node, report);
      relay.offer(node, report);
    },
  };
}

function reportOf(request: FastifyRequest): KeyReport | null {
  const header = request.headers[KEY_REPORT_HEADER];
  return typeof header === "string" ? parseKeyReport(header) : null;
}

/** Other readers get the plan too, but their reports do not count for the node's probe. */
function speaksFor({ principal }: FastifyRequest, node: string): boolean {
  return principal === null || principal.node === node;
}

function planText(
  node: string,
  onReport: PlanSources["onReport"] | null,
  request: FastifyRequest,
  sources: PlanSources,
  reply: FastifyReply,
): string {
  const report = onReport === null ? null : reportOf(request);
  try {
    return JSON.stringify(buildPlan(node, () => onReport?.(node, report), sources));
  } catch (error) {
    void reply.header("retry-after", retryAfterSeconds(node, sources.nowMs()));
    throw error;
  }
}

/** Varies by node and time, so that probes do not retry at once. The header has whole seconds. */
function retryAfterSeconds(node: string, nowMs: number): string {
  return String(1 + (hash53(`${node}\n${Math.floor(nowMs / 1000)}`) % MAX_RETRY_AFTER_SECONDS));
}

function buildPlan(name: string, onKnown: () => void, sources: PlanSources): Omit<ProbePlan, "version"> {
  const { addresses, signingKeyId } = sources;
  const plans = sources.plans();
  const node = plans.node(name);
  if (node === null) throw new AggregatorError("unknown_node", `there is no node ${name}`);
  // The probe exists, even if there is no plan.
  onKnown();
  const identity = addresses.self(name);
  if (identity === null)
    throw new AggregatorError("probe_not_ready", `node ${name} has no probe with an address yet`);
  const planned = plans.peersOf(name);
  if (planned === null)
    throw new AggregatorError("probe_not_ready", `node ${name} is new, its peers are being chosen`);
  const peers = planned.flatMap((peer) => {
    const address = addresses.peer(name, peer.name);
    return address === null ? [] : [{ node: peer.name, zone: peer.zone, region: peer.region, ...address }];
  });
  return { node: name, identity, zone: node.zone, region: node.region, signingKeyId: signingKeyId(), peers };
}

/** The plan is already serialized for its version hash. */
function sendPlan(reply: FastifyReply, version: string, plan: string): FastifyReply {
  return reply.type("application/json; charset=utf-8").send(`{"version":"${version}",${plan.slice(1)}`);
}
