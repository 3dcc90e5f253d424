import type { FastifyInstance } from "fastify";
import { LinkDistributionsSchema, ProblemSchema, type LinkDistributions } from "@isochrone/topology";
import type { Distribution } from "@isochrone/telemetry";
import { AggregatorError } from "../ports/errors.ts";
import type { GraphKeeper } from "../domain/graphs/graph-keeper.ts";
import { assertNodes, PairQuery } from "./query.ts";

/** The window's full data of one pair. All histograms in graphs would take hundreds of megabytes. */
export function registerLinkRoute(app: FastifyInstance, keeper: GraphKeeper, nowMs: () => number): void {
  app.get<{ Querystring: PairQuery }>(
    "/api/v1/graph/link",
    {
      schema: {
        summary:
          "One ordered pair of nodes: the distribution of its round-trip times in the window, by method, and what became of the packets, pane by pane",
        querystring: PairQuery,
        response: {
          200: LinkDistributionsSchema,
          400: ProblemSchema,
          404: ProblemSchema,
          503: ProblemSchema,
        },
      },
    },
    ({ query: { source, target } }, reply) => {
      const { newest } = keeper;
      if (newest === null) throw new AggregatorError("no_graph_yet", "the first graph is still being built");
      assertNodes(newest, [source, target]);
      const now = nowMs();
      return reply.header("cache-control", "no-store").send({
        source,
        target,
        observedAt: new Date(now).toISOString(),
        windowSeconds: newest.cluster("full").windowSeconds,
        distributions: keeper
          .distributions(source, target, now)
          .map(({ method, ipFamily, rtt }) => ({ method, ipFamily, ...bucketsOf(rtt) })),
        counts: keeper.counts(source, target, now),
      } satisfies LinkDistributions);
    },
  );
}

type Told = Omit<LinkDistributions["distributions"][number], "method" | "ipFamily">;

/** Non-empty buckets in order. Bounds are those of base-2 exponential histograms (OTLP). */
function bucketsOf(rtt: Distribution): Told {
  const { scale, zeroCount, offset, bucketCounts } = rtt.toData();
  const perOctave = 2 ** scale;
  const boundMs = (index: number): number => 1000 * 2 ** (index / perOctave);
  const buckets: Told["buckets"] = zeroCount > 0 ? [{ fromMs: 0, toMs: 0, count: zeroCount }] : [];
  for (let slot = 0; slot < bucketCounts.length; slot++) {
    const count = bucketCounts[slot]!;
    const index = offset + slot;
    if (count > 0) buckets.push({ fromMs: boundMs(index), toMs: boundMs(index + 1), count });
  }
  return {
    count: rtt.count,
    minMs: rtt.min === null ? null : rtt.min * 1000,
    maxMs: rtt.max === null ? null : rtt.max * 1000,
    buckets,
  };
}
