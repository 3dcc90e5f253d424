import type { StoreError } from "@isochrone/kubernetes";
import type { Logger } from "@isochrone/runtime";
import {
  createHttpApp,
  HttpError,
  listen,
  type HttpApp,
  type AllowedHosts,
  type HttpAppOptions,
  type ListenAddress,
  type RequestGate,
} from "@isochrone/runtime/http";
import { parseDuration } from "./duration.ts";
import { addLinkRoutes, asHttp, tokenCheck } from "./link-routes.ts";
import type { EmulatedNetwork } from "./network/emulated-network.ts";
import type { PairRecord } from "./network/record.ts";
import type { LabTimeline } from "./timeline.ts";

export interface RecordAnswer {
  readonly lastMs: number;
  readonly pairs: readonly PairRecord[];
}

/** Queries of the control API to the embedded cluster; answers must be JSON-able. */
export interface ClusterReport {
  receiverCounts(): unknown;
  endToEnd(): unknown;
  processes(): unknown;
  /** Kills a node; absent if the nodes aren't the lab's. Resolves when its pods have ended. */
  killNode?(node: string): Promise<void>;
  /** Objects of a cluster without an API server, as a Kubernetes List; else absent. */
  objects?(): Promise<object>;
  /** Calls the store of such a cluster; else absent. */
  store?(call: StoreCall): Promise<StoreAnswer>;
}

/** For commands that move pods, which use the API server in a real cluster. */
export interface StoreCall {
  readonly method: string;
  readonly args: readonly unknown[];
}

export type StoreAnswer<T = unknown> =
  | { readonly value: T }
  | { readonly error: { readonly code: StoreError["code"]; readonly message: string } };

export interface MetricsPage {
  readonly job: string;
  readonly instance: string;
  readonly registry: { metrics(): Promise<string> };
}

interface LabControlOptions {
  readonly network: Pick<EmulatedNetwork, "matrix" | "setLink" | "link" | "record">;
  readonly cluster?: ClusterReport;
  /** Records changes of links; absent: its path answers 404. */
  readonly timeline?: LabTimeline;
  /** Metrics pages of services without their own listener; read per request. @default none */
  readonly pages?: readonly MetricsPage[];
  /** Required for changes and for reading objects. Commands read it from a file. */
  readonly token: string;
  readonly allowedHosts?: AllowedHosts;
  readonly logger: Logger;
  readonly registry: HttpAppOptions["registry"];
}

export interface LabControl {
  readonly app: HttpApp;
  /** Listens on 127.0.0.1. @param port 0 lets the system choose */
  start(port: number): Promise<ListenAddress>;
  stop(): Promise<void>;
}

const BODY_LIMIT_BYTES = 4096;
const DEFAULT_LAST = "30s";
const TARGETS_PATH = "/lab/v1/metrics-targets";
const PAGES_PATH = "/lab/v1/metrics";
const OBJECTS_PATH = "/lab/v1/objects";
const STORE_PATH = "/lab/v1/store";
const STORE_LIMIT_BYTES = 256 * 1024;

const CALL = {
  type: "object",
  required: ["method", "args"],
  properties: { method: { type: "string", maxLength: 32 }, args: { type: "array", maxItems: 4 } },
};
const NODE = { type: "object", properties: { node: { type: "string", maxLength: 253 } } };
/** Control of the network under a running cluster. Isochrone doesn't measure with it. */
export async function createLabControl(options: LabControlOptions): Promise<LabControl> {
  const { network, cluster, timeline, pages = [], token, allowedHosts, logger, registry } = options;
  const app = await createHttpApp({
    name: "lab",
    logger,
    registry,
    bodyLimitBytes: BODY_LIMIT_BYTES,
    gate: changesNeed(token),
    ...(allowedHosts === undefined ? {} : { allowedHosts }),
    ready: () => ({ ready: true, reasons: [] }),
  });

  app.get("/lab/v1/matrix", () => network.matrix());

  await addLinkRoutes(app, { network, token, timeline });

  app.post<{ Params: { node: string } }>(
    "/lab/v1/nodes/:node/kill",
    { schema: { params: NODE } },
    async (request) => {
      const { node } = request.params;
      const report = needCluster(cluster);
      if (report.killNode === undefined)
        throw new HttpError(404, "not_our_nodes", "the nodes are the cluster's own, and aren't killed here");
      await asHttp(() => report.killNode!(node));
      timeline?.nodeKilled(node);
      return { node };
    },
  );

  app.get<{ Querystring: { last?: unknown } }>("/lab/v1/record", async (request) => {
    const { last = DEFAULT_LAST } = request.query;
    return asHttp(async (): Promise<RecordAnswer> => {
      const lastMs = parseDuration("last", last);
      return { lastMs, pairs: await network.record({ lastMs }) };
    });
  });

  app.get("/lab/v1/receivers", () => needCluster(cluster).receiverCounts());
  app.get("/lab/v1/workflow", () => needCluster(cluster).endToEnd());
  app.get("/lab/v1/processes", () => needCluster(cluster).processes());
  app.get(OBJECTS_PATH, () => {
    const report = needCluster(cluster);
    if (report.objects === undefined) throw hasApiServer();
    return report.objects();
  });
  app.post<{ Body: StoreCall }>(
    STORE_PATH,
    { schema: { body: CALL }, bodyLimit: STORE_LIMIT_BYTES },
    async ({ body }) => {
      const report = needCluster(cluster);
      if (report.store === undefined) throw hasApiServer();
      return asHttp(() => report.store!(body));
    },
  );

  app.get(TARGETS_PATH, (request) =>
    pages.map(({ job, instance }) => ({
      targets: [request.headers.host],
      labels: { job, instance, __metrics_path__: pagePath(job, instance) },
    })),
  );
  app.get<{ Params: { job: string; instance: string } }>(
    `${PAGES_PATH}/:job/:instance`,
    async (request, reply) => {
      const { job, instance } = request.params;
      const page = pages.find((each) => each.job === job && each.instance === instance);
      if (page === undefined) throw new HttpError(404, "no_page", `there is no page of ${job} ${instance}`);
      return reply.type("text/plain; version=0.0.4; charset=utf-8").send(await page.registry.metrics());
    },
  );

  return {
    app,
    start: (port) => listen(app, { host: "127.0.0.1", port }),
    stop: async () => app.close(),
  };
}

/** Reads reveal nothing beyond the emulated network, except objects, which may contain private data. */
function changesNeed(token: string): RequestGate {
  const refusalOf = tokenCheck(token);
  return {
    check({ method, path, authorization }) {
      const isRead = method === "GET" || method === "HEAD";
      if (isRead && path !== OBJECTS_PATH) return null;
      return refusalOf(authorization, isRead ? "reading objects" : "changing the emulated network");
    },
  };
}

function hasApiServer(): HttpError {
  const detail = "the cluster has an API server of its own: ask that, by kubectl";
  return new HttpError(404, "has_api_server", detail);
}

function needCluster(cluster: ClusterReport | undefined): ClusterReport {
  if (cluster !== undefined) return cluster;
  throw new HttpError(404, "no_cluster", "this lab runs a network without a cluster");
}

function pagePath(job: string, instance: string): string {
  return [PAGES_PATH, encodeURIComponent(job), encodeURIComponent(instance)].join("/");
}
