import type { FastifyInstance } from "fastify";
import { BandwidthLeaseAnswerSchema, BandwidthLeaseRequestSchema, ProblemSchema } from "@isochrone/topology";
import { Type, type Static } from "typebox";
import type { LeaseAnswer } from "../domain/bandwidth/bandwidth-leases.ts";
import { AggregatorError } from "../ports/errors.ts";
import type { LeaderForward } from "./forward.ts";
import { NoQuery } from "./query.ts";

const LeaseParams = Type.Object({ id: Type.String({ minLength: 1, maxLength: 64 }) });
type LeaseRequest = Static<typeof BandwidthLeaseRequestSchema>;

export interface LeaseDesk {
  /** Throws an AggregatorError `unknown_node`. */
  acquire(node: string): LeaseAnswer;
  /** An unknown id is no error, because leases also expire. */
  release(id: string): void;
}

/** @param forward null: this replica is the only one */
export function registerBandwidthLeaseRoutes(
  app: FastifyInstance,
  desk: LeaseDesk,
  forward: LeaderForward | null = null,
): void {
  app.post<{ Body: LeaseRequest }>(
    "/api/v1/bandwidth-leases",
    {
      schema: {
        summary: "The permission to test the bandwidth to one peer; null = not now",
        body: BandwidthLeaseRequestSchema,
        querystring: NoQuery,
        response: {
          200: BandwidthLeaseAnswerSchema,
          400: ProblemSchema,
          403: ProblemSchema,
          404: ProblemSchema,
          503: ProblemSchema,
        },
      },
    },
    (request, reply) => {
      if (forward !== null && !forward.isHere()) return forward.pass(request, reply);
      const { node } = request.body;
      if (request.principal !== null && request.principal.node !== node)
        throw new AggregatorError(
          "not_yours",
          `${request.principal.user} must ask for its own node, got ${node}`,
        );
      const { lease, retryAfterMs } = desk.acquire(node);
      return reply.header("cache-control", "no-store").send({ lease, retryAfterMs });
    },
  );
  app.delete<{ Params: Static<typeof LeaseParams> }>(
    "/api/v1/bandwidth-leases/:id",
    {
      config: { reviewedPath: "/api/v1/bandwidth-leases/*" },
      schema: {
        summary: "Gives a lease back",
        params: LeaseParams,
        querystring: NoQuery,
        response: {
          204: Type.Null({ description: "There is no such lease any more" }),
          400: ProblemSchema,
          503: ProblemSchema,
        },
      },
    },
    (request, reply) => {
      if (forward !== null && !forward.isHere()) return forward.pass(request, reply);
      desk.release(request.params.id);
      return reply.code(204).send();
    },
  );
}
