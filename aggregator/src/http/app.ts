import {
  createHttpApp,
  problem,
  sendProblem,
  type AllowedHosts,
  type HttpApp,
  type Readiness,
  type RequestGate,
  type ServerTlsOptions,
} from "@isochrone/runtime/http";
import type { Logger } from "@isochrone/runtime";
import type { FastifyInstance } from "fastify";
import type { Registry } from "prom-client";
import { AggregatorError } from "../ports/errors.ts";
import { registerBillRoutes } from "../bill/bill-routes.ts";
import type { Bills } from "../bill/domain/bills.ts";
import type { GraphHistory } from "../domain/graphs/graph-history.ts";
import type { GraphKeeper } from "../domain/graphs/graph-keeper.ts";
import type { PageAssets } from "../ports/ports.ts";
import { registerBandwidthLeaseRoutes, type LeaseDesk } from "./bandwidth-lease-routes.ts";
import { registerDecisionsRoutes, type DecisionsSource } from "./decisions-routes.ts";
import { registerFlowPlanRoutes, type FlowPlanSource } from "./flow-plan-route.ts";
import type { EventStream } from "./event-stream.ts";
import type { ReportRelay } from "./forward-reports.ts";
import type { LeaderForward } from "./forward.ts";
import { freshGraphs } from "./fresh.ts";
import { registerGraphRoutes } from "./graph-routes.ts";
import { registerHealthRoute, type HealthSources } from "./health-route.ts";
import { registerHistoryRoutes } from "./history-routes.ts";
import { registerLinkRoute } from "./link-route.ts";
import { registerPage } from "./page-routes.ts";
import type { ReplicaHealths } from "./replica-healths.ts";
import { registerRecordKeyRoutes, type RecordKeyDesk } from "./record-key-route.ts";
import { registerProbePlanRoute, type PlanSources } from "./probe-plan-route.ts";
import { registerStreamsRoute, registerTrafficRoute } from "./moment-routes.ts";
import type { StreamsSource, TrafficSource } from "./moment-routes.ts";

interface GraphApiParts {
  readonly logger: Logger;
  readonly registry: Registry;
  readonly tls: ServerTlsOptions | undefined;
  readonly gate: RequestGate | undefined;
  readonly isMetricsOpen: boolean;
  readonly bodyLimitBytes: number;
  readonly maxEventClients: number;
  readonly allowedHosts?: AllowedHosts;
  /** Identifies this process of the replica. */
  readonly epoch: string;
  readonly keeper: GraphKeeper;
  readonly pastGraphs: GraphHistory;
  readonly bills: Bills;
  readonly replica: string | null;
  readonly nowMs: () => number;
  readonly events: EventStream;
  readonly plan: PlanSources;
  readonly leases: LeaseDesk;
  /** Null: records are not sealed. */
  readonly recordKeys: RecordKeyDesk | null;
  /** Null: this is the only replica. */
  readonly replication: {
    readonly forward: LeaderForward;
    readonly relay: ReportRelay;
    readonly healths: ReplicaHealths;
  } | null;
  readonly refusals: HealthSources["refusals"];
  readonly unused: HealthSources["unused"];
  readonly clusters: HealthSources["clusters"];
  readonly decisions: DecisionsSource;
  readonly flowPlans: FlowPlanSource;
  readonly streams: StreamsSource;
  readonly traffic: TrafficSource;
  readonly page?: PageAssets | undefined;
  readonly addRoutes?: ((app: HttpApp) => Promise<void>) | undefined;
  ready(): Readiness;
}

const BASE_CONNECTIONS = 4096;

export async function createGraphApi(parts: GraphApiParts): Promise<HttpApp> {
  const app = await createHttpApp({
    name: "graph-api",
    logger: parts.logger,
    registry: parts.registry,
    tls: parts.tls,
    gate: parts.gate,
    isMetricsOpen: parts.isMetricsOpen,
    bodyLimitBytes: parts.bodyLimitBytes,
    // Event streams need connections in addition to requests.
    maxConnections: BASE_CONNECTIONS + parts.maxEventClients,
    ...(parts.allowedHosts === undefined ? {} : { allowedHosts: parts.allowedHosts }),
    ready: () => parts.ready(),
    openapi: { path: "/api/v1/openapi.json", title: "Isochrone graph API", version: "1" },
  });
  await app.register(async (scope) => {
    // The routes state their types themselves: a type provider gives a 304 without a body no type.
    const api = scope as unknown as FastifyInstance;
    answerKnownErrors(api);
    const fresh = freshGraphs(parts.keeper, parts.pastGraphs, parts.epoch);
    registerGraphRoutes(api, parts.keeper, fresh, parts.epoch);
    registerBillRoutes(api, fresh, parts.bills);
    registerLinkRoute(api, parts.keeper, parts.nowMs);
    registerHistoryRoutes(api, parts.pastGraphs, parts.keeper);
    registerHealthRoute(api, parts);
    registerProbePlanRoute(api, parts.plan, parts.replication);
    registerBandwidthLeaseRoutes(api, parts.leases, parts.replication?.forward);
    registerRecordKeyRoutes(api, parts.recordKeys);
    registerDecisionsRoutes(api, parts.decisions);
    registerFlowPlanRoutes(api, parts.flowPlans);
    registerStreamsRoute(api, parts.streams);
    registerTrafficRoute(api, parts.traffic);
    parts.events.register(api);
  });
  app.addHook("preClose", async () => parts.events.close());
  if (parts.page !== undefined) registerPage(app, parts.page);
  await parts.addRoutes?.(app);
  return app;
}

/** Answers "not yet", "not found" and "gone" are expected; do not log them as failures. */
function answerKnownErrors(app: FastifyInstance): void {
  app.setErrorHandler((error, _request, reply) => {
    if (!(error instanceof AggregatorError)) throw error;
    if (error.status === 503 && !reply.hasHeader("retry-after")) void reply.header("retry-after", "1");
    return sendProblem(reply, problem(error.status, { code: error.code, detail: error.message }));
  });
}
