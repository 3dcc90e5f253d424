import type { FastifyInstance } from "fastify";
import {
  ClusterColumnsSchema,
  ClusterGraphSchema,
  DemandSchema,
  ProblemSchema,
  WorkflowGraphSchema,
  WorkflowListSchema,
  type ClusterGraphSnapshot,
  type Link,
} from "@isochrone/topology";
import { METHODS } from "@isochrone/telemetry";
import { Type, type Static } from "typebox";
import type { LinkIdentity, LinkOrder } from "../domain/compare.ts";
import { withEstimated } from "../domain/graphs/coordinate-links.ts";
import type { Coordinates } from "../coordinates/domain/coordinates.ts";
import type { WindowName } from "../domain/windows/window-shape.ts";
import { AggregatorError } from "../ports/errors.ts";
import type { GraphKeeper, PublishedGraphs } from "../domain/graphs/graph-keeper.ts";
import { sendColumns } from "./cluster-columns.ts";
import { sendJson, Unchanged, WindowQuery, type Fresh } from "./fresh.ts";
import { AtQuery } from "./history-routes.ts";
import { assertNodes, NOTHING_ELSE } from "./query.ts";
import { listWorkflows, listWithGraphs, WorkflowListQuery } from "./workflow-list.ts";

const MAX_LINKS_PER_PAGE = 100_000;
/** The number of estimated links is quadratic. */
const MAX_ESTIMATED_NODES = 100;

const ClusterQuery = Type.Object(
  {
    window: WindowQuery,
    at: AtQuery,
    nodes: Type.Optional(
      Type.String({
        maxLength: 65_536,
        description: "Names, comma separated: only these nodes and the links between them",
      }),
    ),
    limit: Type.Optional(
      Type.Integer({ minimum: 1, maximum: MAX_LINKS_PER_PAGE, description: "Links per page. Default: all" }),
    ),
    cursor: Type.Optional(Type.String({ maxLength: 1024, description: "nextCursor of the page before" })),
    include: Type.Optional(
      Type.Literal("estimated", {
        description: `Between the named nodes (${MAX_ESTIMATED_NODES} at most) also links that nobody measured: estimated, else declared`,
      }),
    ),
  },
  NOTHING_ELSE,
);
type ClusterQuery = Static<typeof ClusterQuery>;

const WorkflowQuery = Type.Object({ window: WindowQuery, at: AtQuery }, NOTHING_ELSE);
type WorkflowQuery = Static<typeof WorkflowQuery>;

const WorkflowParams = Type.Object({
  namespace: Type.String({ maxLength: 253 }),
  name: Type.String({ maxLength: 253 }),
});
type WorkflowParams = Static<typeof WorkflowParams>;

/** Registers `GET /api/v1/graph/...`. `epoch` identifies the process, because versions restart at 1. */
export function registerGraphRoutes(
  app: FastifyInstance,
  keeper: GraphKeeper,
  fresh: Fresh,
  epoch: string,
): void {
  registerCluster(app, keeper, fresh);
  registerColumns(app, fresh);
  registerWorkflowList(app, keeper, fresh, epoch);
  registerWorkflow(app, fresh);
  registerDemand(app, fresh);
}

function registerCluster(app: FastifyInstance, keeper: GraphKeeper, fresh: Fresh): void {
  app.get<{ Querystring: ClusterQuery }>(
    "/api/v1/graph/cluster",
    {
      schema: {
        summary: "The cluster graph: nodes, and measured and declared links",
        querystring: ClusterQuery,
        response: {
          200: ClusterGraphSchema,
          304: Unchanged,
          400: ProblemSchema,
          404: ProblemSchema,
          503: ProblemSchema,
        },
      },
    },
    (request, reply) => {
      const window = request.query.window ?? "full";
      const graphs = fresh(request, reply, request.query);
      return graphs === null
        ? reply.send()
        : sendJson(reply, clusterJson(graphs, window, request.query, keeper));
    },
  );
}

function registerColumns(app: FastifyInstance, fresh: Fresh): void {
  app.get<{ Querystring: WorkflowQuery }>(
    "/api/v1/graph/cluster/columns",
    {
      schema: {
        summary:
          "The whole cluster graph for who draws all of it: links as columns, a tenth of the text; gzip for clients that take it",
        querystring: WorkflowQuery,
        response: { 200: ClusterColumnsSchema, 304: Unchanged, 400: ProblemSchema, 503: ProblemSchema },
      },
    },
    (request, reply) => {
      const graphs = fresh(request, reply, request.query);
      if (graphs === null) return reply.send();
      return sendColumns(request, reply, graphs.cluster(request.query.window ?? "full"));
    },
  );
}

const wholeTexts = new WeakMap<ClusterGraphSnapshot, string>();

function clusterJson(
  graphs: PublishedGraphs,
  window: WindowName,
  query: ClusterQuery,
  keeper: GraphKeeper,
): string {
  const graph = graphs.cluster(window);
  const part =
    query.include === undefined
      ? selectPart(graph, query, keeper.linkOrder)
      : includeEstimated(graph, graphs.coordinates, query, keeper);
  if (part !== graph) return JSON.stringify(part);
  let text = wholeTexts.get(graph);
  if (text === undefined) wholeTexts.set(graph, (text = JSON.stringify(graph)));
  return text;
}

function selectPart(
  graph: ClusterGraphSnapshot,
  { nodes, limit, cursor }: ClusterQuery,
  order: LinkOrder,
): ClusterGraphSnapshot {
  if (nodes === undefined && limit === undefined && cursor === undefined) return graph;
  const names = nodes === undefined ? null : new Set(nodes.split(",").map((name) => name.trim()));
  if (names !== null) assertNodes(graph, [...names]);
  const wanted =
    names === null
      ? graph.links
      : graph.links.filter((link) => names.has(link.source) && names.has(link.target));
  const after = cursor === undefined ? null : readCursor(cursor);
  const rest = after === null ? wanted : wanted.slice(firstAfter(wanted, after, order));
  const links = limit === undefined ? rest : rest.slice(0, limit);
  return {
    ...graph,
    nodes: names === null ? graph.nodes : graph.nodes.filter((node) => names.has(node.name)),
    links,
    nextCursor: links.length < rest.length ? writeCursor(links.at(-1)!) : null,
  };
}

function includeEstimated(
  graph: ClusterGraphSnapshot,
  coordinates: Coordinates | null,
  query: ClusterQuery,
  { rule, linkOrder }: GraphKeeper,
): ClusterGraphSnapshot {
  if (query.nodes === undefined || query.limit !== undefined || query.cursor !== undefined)
    throw new AggregatorError(
      "bad_query",
      "include=estimated needs nodes, and goes without limit and cursor",
    );
  const part = selectPart(graph, { nodes: query.nodes }, linkOrder);
  if (part.nodes.length > MAX_ESTIMATED_NODES) {
    const message = `include=estimated takes at most ${MAX_ESTIMATED_NODES} nodes, got ${part.nodes.length}`;
    throw new AggregatorError("bad_query", message);
  }
  return { ...part, links: withEstimated(part, coordinates, rule, linkOrder) };
}

/** A page ends at a link's name, so that paging survives new versions. */
type CursorKey = readonly [source: string, target: string, method: string, ipFamily: number];

function writeCursor({ source, target, method, ipFamily }: Link): string {
  return Buffer.from(JSON.stringify([source, target, method, ipFamily] satisfies CursorKey)).toString(
    "base64url",
  );
}

function readCursor(cursor: string): LinkIdentity {
  try {
    const key: unknown = JSON.parse(Buffer.from(cursor, "base64url").toString());
    if (isCursorKey(key)) {
      const [source, target, name, ipFamily] = key;
      const method = METHODS.find((known) => known === name);
      if (method !== undefined) return { source, target, method, ipFamily };
    }
  } catch {
    // The error below covers it.
  }
  throw new AggregatorError("bad_query", "cursor must be the nextCursor of a previous page");
}

function isCursorKey(key: unknown): key is CursorKey {
  return (
    Array.isArray(key) &&
    key.length === 4 &&
    key.slice(0, 3).every((part) => typeof part === "string") &&
    typeof key[3] === "number"
  );
}

/** Index of the first link after `last`, which may be gone. */
function firstAfter(links: readonly Link[], last: LinkIdentity, order: LinkOrder): number {
  let low = 0;
  let high = links.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (order(links[middle]!, last) > 0) high = middle;
    else low = middle + 1;
  }
  return low;
}

function registerWorkflowList(app: FastifyInstance, keeper: GraphKeeper, fresh: Fresh, epoch: string): void {
  app.get<{ Querystring: WorkflowListQuery }>(
    "/api/v1/graph/workflows",
    {
      schema: {
        summary: "All workflows; with include=graphs also the graphs that changed",
        querystring: WorkflowListQuery,
        response: { 200: WorkflowListSchema, 304: Unchanged, 400: ProblemSchema, 503: ProblemSchema },
      },
    },
    (request, reply) => {
      const window = request.query.window ?? "full";
      const graphs = fresh(request, reply, request.query);
      if (graphs === null) return reply.send();
      const list = listWorkflows(graphs, window);
      return sendJson(
        reply,
        JSON.stringify(
          request.query.include === undefined ? list : listWithGraphs(list, request.query, keeper, epoch),
        ),
      );
    },
  );
}

function registerWorkflow(app: FastifyInstance, fresh: Fresh): void {
  app.get<{ Params: WorkflowParams; Querystring: WorkflowQuery }>(
    "/api/v1/graph/workflows/:namespace/:name",
    {
      schema: {
        summary: "One workflow: workloads and channels",
        params: WorkflowParams,
        querystring: WorkflowQuery,
        response: {
          200: WorkflowGraphSchema,
          304: Unchanged,
          400: ProblemSchema,
          404: ProblemSchema,
          503: ProblemSchema,
        },
      },
    },
    (request, reply) => {
      const window = request.query.window ?? "full";
      const graphs = fresh(request, reply, request.query);
      if (graphs === null) return reply.send();
      const key = `${request.params.namespace}/${request.params.name}`;
      const graph = graphs.workflows(window).get(key);
      if (graph === undefined) throw new AggregatorError("unknown_workflow", `there is no workflow ${key}`);
      return sendJson(reply, JSON.stringify(graph));
    },
  );
}

function registerDemand(app: FastifyInstance, fresh: Fresh): void {
  app.get<{ Querystring: WorkflowQuery }>(
    "/api/v1/graph/demand",
    {
      schema: {
        summary: "What each zone asks of each Service: requests per second, latency, share in time",
        querystring: WorkflowQuery,
        response: { 200: DemandSchema, 304: Unchanged, 400: ProblemSchema, 503: ProblemSchema },
      },
    },
    (request, reply) => {
      const graphs = fresh(request, reply, request.query);
      if (graphs === null) return reply.send();
      return sendJson(reply, JSON.stringify(graphs.demand(request.query.window ?? "full")));
    },
  );
}
