// Flow plans for aggregators, and their confirmations by nodes; the leader answers.
import { FlowPlanSchema, ProblemSchema, StreamJobListSchema } from "@isochrone/topology";
import { HttpError } from "@isochrone/runtime/http";
import type { HttpApp } from "@isochrone/runtime/http";
import { Type } from "typebox";
import type { Streams } from "./controller.ts";

const FlowPlanListSchema = Type.Object(
  {
    epoch: Type.String({ description: "one leader's life" }),
    generation: Type.Integer({ description: "counts the changes of the epoch" }),
    plans: Type.Array(FlowPlanSchema),
  },
  { $id: "FlowPlanList" },
);
const Name = Type.String({ minLength: 1, maxLength: 253 });
const AppliedSchema = Type.Object({
  applied: Type.Array(
    Type.Object({
      node: Name,
      epoch: Type.String({ minLength: 1, maxLength: 128 }),
      generation: Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER }),
    }),
    { maxItems: 10_000 },
  ),
});

export function addStreamRoutes(app: HttpApp, streams: Pick<Streams, "jobs" | "plans"> | null): void {
  const ofLeader = <T>(value: T | null | undefined, reply: Headers): T => {
    if (value !== null && value !== undefined) return value;
    // All replicas have the same settings, so none can answer.
    if (streams === null) throw new HttpError(503, "streams_off", "streams.enabled is off");
    // A retry on the same connection would reach the same replica.
    void reply.header("connection", "close");
    throw new HttpError(503, "not_leading", "another replica runs stream jobs");
  };
  app.get(
    "/api/v1/flow-plans",
    { schema: { response: { 200: FlowPlanListSchema, 304: Type.Null(), 503: ProblemSchema } } },
    (request, reply) => {
      const plans = ofLeader(streams?.plans(), reply);
      const { epoch, generation } = plans;
      const etag = `"${epoch}-${generation}"`;
      void reply.header("etag", etag);
      const { "if-none-match": known } = request.headers;
      if (known === etag) {
        void reply.code(304);
        return null;
      }
      return { epoch, generation, plans: [...plans.all()] };
    },
  );
  app.post(
    "/api/v1/flow-plans/applied",
    { schema: { body: AppliedSchema, response: { 204: Type.Null(), 503: ProblemSchema } } },
    (request, reply) => {
      const plans = ofLeader(streams?.plans(), reply);
      for (const { node, epoch, generation } of request.body.applied) plans.confirm(node, epoch, generation);
      void reply.code(204);
      return null;
    },
  );
  app.get(
    "/api/v1/stream-jobs",
    { schema: { response: { 200: StreamJobListSchema, 503: ProblemSchema } } },
    (_, reply) => ({ jobs: [...ofLeader(streams?.jobs(), reply)] }),
  );
}

interface Headers {
  header(name: string, value: string): unknown;
}
