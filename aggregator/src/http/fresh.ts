import type { FastifyReply, FastifyRequest } from "fastify";
import { Type } from "typebox";
import type { GraphHistory } from "../domain/graphs/graph-history.ts";
import type { GraphKeeper, PublishedGraphs } from "../domain/graphs/graph-keeper.ts";
import type { WindowName } from "../domain/windows/window-shape.ts";
import { AggregatorError } from "../ports/errors.ts";
import { isUnchanged } from "./etag.ts";
import { momentOf } from "./history-routes.ts";

export const WindowQuery = Type.Optional(
  Type.Union([Type.Literal("full"), Type.Literal("fast")], {
    description: "fast: the newest panes only, for alerts. Default: full",
  }),
);

export const Unchanged = Type.Null({ description: "The client has this version" });

interface Wanted {
  readonly window?: WindowName;
  readonly at?: string;
}

/** Returns the requested graphs and sets their ETag. Null: the client has them already. */
export type Fresh = (request: FastifyRequest, reply: FastifyReply, wanted: Wanted) => PublishedGraphs | null;

/** @param epoch identifies the process, because versions restart at 1 */
export function freshGraphs(keeper: GraphKeeper, pastGraphs: GraphHistory, epoch: string): Fresh {
  return (request, reply, { window = "full", at }) => {
    const graphs = at === undefined ? keeper.newest : pastGraphs.at(momentOf(at));
    if (graphs === null) throw new AggregatorError("no_graph_yet", "the first graph is still being built");
    return isUnchanged(request, reply, `"${epoch}-${graphs.version}-${window}"`) ? null : graphs;
  };
}

/** Schema-driven serialization takes ten times as long for nullable numbers. */
export function sendJson(reply: FastifyReply, text: string): FastifyReply {
  return reply.type("application/json; charset=utf-8").send(text);
}
