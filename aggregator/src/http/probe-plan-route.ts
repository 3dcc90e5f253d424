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
/** What access to all plans is asked for. */
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

/** What probe plans are made of. */
export interface PlanSources {
  readonly addresses: ProbeAddresses;
  /** As they are now. */
  readonly plans: () => Plans;
  /** Wall time. */
  readonly nowMs: () => number;
  /** Null: keys aren't the aggregator's business. Throws an AggregatorError while it isn't known. */
  readonly signingKeyId: () => number | null;
  /** A probe of the cluster asked for its plan; null: it said nothing of keys. */
  readonly onReport: (node: string, report: KeyReport | null) => void;
}

/** How replicas share what probes say of their keys. */
interface ReportSharing {
  readonly relay: ReportRelay;
  readonly forward: LeaderForward;
}

/**
 * `GET /api/v1/probe-plan/{node}`, which every replica answers itself, whoever leads.
 *
 * @param sharing null: this replica is the only one
 */
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
      // One review for the probes of all nodes. Not below /api/v1/: a reader of graphs has a pod on some
      // node, and must not be its probe.
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

/** Each report is kept here too: this replica may lead next. */
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

/**
 * The probe of another node, and whoever else may, reads the plan, and nothing that it says is taken for the
 * node's own probe's.
 */
function speaksFor({ principal }: FastifyRequest, node: string): boolean {
  return principal === null || principal.node === node;
}

/** @param onReport null: whoever asks is not the node's probe */
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

/**
 * Another one for each node and each time: the probes of a cluster that starts don't come back as one. The
 * header knows whole seconds.
 */
function retryAfterSeconds(node: string, nowMs: number): string {
  return String(1 + (hash53(`${node}\n${Math.floor(nowMs / 1000)}`) % MAX_RETRY_AFTER_SECONDS));
}

function buildPlan(name: string, onKnown: () => void, sources: PlanSources): Omit<ProbePlan, "version"> {
  const { addresses, signingKeyId } = sources;
  const plans = sources.plans();
  const node = plans.node(name);
  if (node === null) throw new AggregatorError("unknown_node", `there is no node ${name}`);
  // The probe is there, whether it can have a plan or not.
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

/** The text is there already, as its hash is the version. */
function sendPlan(reply: FastifyReply, version: string, plan: string): FastifyReply {
  return reply.type("application/json; charset=utf-8").send(`{"version":"${version}",${plan.slice(1)}`);
}
