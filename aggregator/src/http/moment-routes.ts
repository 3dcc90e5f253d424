import type { FastifyInstance } from "fastify";
import {
  ProblemSchema,
  StreamsSchema,
  TrafficSchema,
  type StreamsSnapshot,
  type TrafficSnapshot,
} from "@isochrone/topology";
import { Type, type Static, type TSchema } from "typebox";
import { AtQuery, momentOf } from "./history-routes.ts";
import { NOTHING_ELSE } from "./query.ts";

/** Current and retained states. Both methods fail with an AggregatorError if there is none. */
interface MomentSource<T> {
  now(signal: AbortSignal): Promise<T>;
  /** JSON of the state at a time in Unix ms. */
  at(ms: number): string;
}

const MomentQuery = Type.Object({ at: AtQuery }, NOTHING_ELSE);

export type StreamsSource = MomentSource<StreamsSnapshot>;
export type TrafficSource = MomentSource<TrafficSnapshot>;

export function registerStreamsRoute(app: FastifyInstance, source: StreamsSource): void {
  const summary = "Stream jobs with what limits them, and the links that their flows use, by use";
  registerMoments(app, source, { path: "/api/v1/streams", summary, schema: StreamsSchema });
}

export function registerTrafficRoute(app: FastifyInstance, source: TrafficSource): void {
  const summary = "What zones ask of Services, to which zones it goes, and to which it should go";
  registerMoments(app, source, { path: "/api/v1/traffic", summary, schema: TrafficSchema });
}

interface Shown {
  readonly path: string;
  readonly summary: string;
  readonly schema: TSchema;
}

function registerMoments(
  app: FastifyInstance,
  source: MomentSource<unknown>,
  { path, summary, schema }: Shown,
): void {
  app.get<{ Querystring: Static<typeof MomentQuery>; Reply: unknown }>(
    path,
    {
      schema: {
        summary,
        querystring: MomentQuery,
        response: {
          200: schema,
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
