import type { WorkflowGraphSnapshot, WorkflowList } from "@isochrone/topology";
import { Type, type Static } from "typebox";
import { compareText } from "../domain/compare.ts";
import type { NamespacedName } from "../domain/cluster-state.ts";
import type { WindowName } from "../domain/windows/window-shape.ts";
import { AggregatorError } from "../ports/errors.ts";
import type { GraphKeeper, PublishedGraphs } from "../domain/graphs/graph-keeper.ts";
import { AtQuery } from "./history-routes.ts";
import { NOTHING_ELSE } from "./query.ts";

const MAX_GRAPHS_PER_PAGE = 1_000;
/** A workflow of 50 workloads takes about 50 kB. */
const DEFAULT_GRAPHS_PER_PAGE = 250;

export const WorkflowListQuery = Type.Object(
  {
    window: Type.Optional(
      Type.Union([Type.Literal("full"), Type.Literal("fast")], {
        description: "fast: the newest panes only, for alerts. Default: full",
      }),
    ),
    at: AtQuery,
    include: Type.Optional(
      Type.Literal("graphs", { description: "Also the graphs, of the full window, page by page" }),
    ),
    since: Type.Optional(
      Type.String({
        maxLength: 200,
        description:
          "The id of an answer before: only graphs that changed after it. Ages alone are no change. An id of another replica or life gives all",
      }),
    ),
    limit: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: MAX_GRAPHS_PER_PAGE,
        description: `Graphs per page. Default: ${DEFAULT_GRAPHS_PER_PAGE}`,
      }),
    ),
    cursor: Type.Optional(Type.String({ maxLength: 1024, description: "nextCursor of the page before" })),
  },
  NOTHING_ELSE,
);
export type WorkflowListQuery = Static<typeof WorkflowListQuery>;

export function listWorkflows(graphs: PublishedGraphs, window: WindowName): WorkflowList {
  return {
    version: graphs.version,
    observedAt: graphs.cluster(window).observedAt,
    workflows: Array.from(graphs.workflows(window).values(), ({ namespace, name, workloads, channels }) => ({
      namespace,
      name,
      workloads: workloads.length,
      channels: channels.length,
      pods: workloads.reduce((sum, workload) => sum + workload.pods.length, 0),
    })),
  };
}

/** Pages through the changed graphs. Throws an AggregatorError for an invalid query. */
export function listWithGraphs(
  list: WorkflowList,
  { window = "full", at, since, limit = DEFAULT_GRAPHS_PER_PAGE, cursor }: WorkflowListQuery,
  keeper: GraphKeeper,
  epoch: string,
): WorkflowList {
  if (at !== undefined)
    throw new AggregatorError("bad_query", "include=graphs is available for the newest graphs only");
  if (window !== "full")
    throw new AggregatorError("bad_query", "include=graphs is available for the full window only");
  const changed = keeper.workflowsSince(since === undefined ? null : versionOf(since, epoch));
  const rest = cursor === undefined ? changed : after(changed, readCursor(cursor));
  const graphs = rest.slice(0, limit);
  return {
    ...list,
    id: `${epoch}-${list.version}`,
    graphs,
    nextCursor: graphs.length < rest.length ? writeCursor(graphs.at(-1)!) : null,
  };
}

/** Returns null for an id of another process. */
function versionOf(id: string, epoch: string): number | null {
  const version = id.startsWith(`${epoch}-`) ? id.slice(epoch.length + 1) : "";
  return /^\d{1,15}$/.test(version) ? Number(version) : null;
}

// A page ends at a workflow's name, so that paging survives new versions.
function writeCursor({ namespace, name }: WorkflowGraphSnapshot): string {
  return Buffer.from(JSON.stringify([namespace, name])).toString("base64url");
}

function readCursor(cursor: string): NamespacedName {
  try {
    const key: unknown = JSON.parse(Buffer.from(cursor, "base64url").toString());
    if (Array.isArray(key) && key.length === 2 && typeof key[0] === "string" && typeof key[1] === "string")
      return { namespace: key[0], name: key[1] };
  } catch {
    // The error below covers it.
  }
  throw new AggregatorError("bad_query", "cursor must be the nextCursor of a previous page");
}

function after(
  graphs: readonly WorkflowGraphSnapshot[],
  { namespace, name }: NamespacedName,
): WorkflowGraphSnapshot[] {
  return graphs.filter(
    (graph) => (compareText(graph.namespace, namespace) || compareText(graph.name, name)) > 0,
  );
}
