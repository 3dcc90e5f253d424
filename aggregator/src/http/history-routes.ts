import type { FastifyInstance } from "fastify";
import { GraphHistorySchema, LinkHistorySchema, ProblemSchema } from "@isochrone/topology";
import { Type } from "typebox";
import { AggregatorError } from "../ports/errors.ts";
import type { GraphHistory } from "../domain/graphs/graph-history.ts";
import type { GraphKeeper } from "../domain/graphs/graph-keeper.ts";
import { assertNodes, NoQuery, PairQuery } from "./query.ts";

export const AtQuery = Type.Optional(
  Type.String({
    maxLength: 64,
    description:
      "A moment, RFC 3339: the graphs as they were then, as far as kept (see /api/v1/graph/history). Only of the full window",
  }),
);

/** Parses to Unix ms. Throws an AggregatorError. */
export function momentOf(at: string): number {
  const ms = /^\d{4}-\d\d-\d\dT/.test(at) ? Date.parse(at) : Number.NaN;
  if (Number.isNaN(ms))
    throw new AggregatorError("bad_query", "at must be a time such as 2026-01-31T12:00:00Z (RFC 3339)");
  return ms;
}

export function registerHistoryRoutes(
  app: FastifyInstance,
  history: GraphHistory,
  keeper: GraphKeeper,
): void {
  app.get(
    "/api/v1/graph/history",
    {
      schema: {
        summary: "Which moments ?at= reaches",
        querystring: NoQuery,
        response: { 200: GraphHistorySchema, 400: ProblemSchema },
      },
    },
    (_request, reply) =>
      reply
        .header("cache-control", "no-store")
        .send({ keptSeconds: history.keptSeconds, times: history.times() }),
  );
  app.get<{ Querystring: PairQuery }>(
    "/api/v1/graph/history/link",
    {
      schema: {
        summary: "How one ordered pair of nodes was, over the kept history",
        querystring: PairQuery,
        response: { 200: LinkHistorySchema, 400: ProblemSchema, 404: ProblemSchema },
      },
    },
    ({ query: { source, target } }, reply) => {
      const past = history.link(source, target, keeper.rule.methods);
      // A removed node may still have history.
      if (past.method === null && keeper.newest !== null) assertNodes(keeper.newest, [source, target]);
      return reply.header("cache-control", "no-store").send(past);
    },
  );
}
