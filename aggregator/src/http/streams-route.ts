import type { FastifyInstance } from "fastify";
import { ProblemSchema, StreamsSchema, type StreamsSnapshot } from "@isochrone/topology";
import { Type, type Static } from "typebox";
import { AtQuery, momentOf } from "./history-routes.ts";
import { NOTHING_ELSE } from "./query.ts";

/** Where stream jobs come from. Both reject with an AggregatorError where nobody can say it. */
export interface StreamsSource {
  now(signal: AbortSignal): Promise<StreamsSnapshot>;
  /** JSON of a moment, milliseconds since the epoch. */
  at(ms: number): string;
}

const StreamsQuery = Type.Object({ at: AtQuery }, NOTHING_ELSE);

/** `GET /api/v1/streams`: stream jobs with what limits them, and links with the flows on them. */
export function registerStreamsRoute(app: FastifyInstance, source: StreamsSource): void {
  app.get<{ Querystring: Static<typeof StreamsQuery>; Reply: unknown }>(
    "/api/v1/streams",
    {
      schema: {
        summary: "Stream jobs with what limits them, and the links that their flows use, by use",
        querystring: StreamsQuery,
        response: {
          200: StreamsSchema,
          400: ProblemSchema,
          404: ProblemSchema,
          502: ProblemSchema,
          503: ProblemSchema,
        },
      },
    },
    async ({ query: { at } }, reply) => {
      void reply.header("cache-control", "no-store");
      if (at !== undefined) return reply.type("application/json").send(source.at(momentOf(at)));
      const gone = new AbortController();
      reply.raw.once("close", () => gone.abort());
      return reply.send(await source.now(gone.signal));
    },
  );
}
