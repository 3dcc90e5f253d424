import { HttpError } from "@isochrone/runtime/http";
import type { HttpApp } from "@isochrone/runtime/http";
import { ProblemSchema, ServiceTrafficListSchema } from "@isochrone/topology";
import type { Dispatch } from "./controller.ts";

/**
 * Adds `GET /api/v1/dispatch`, which the leader answers.
 * @param dispatch null: no lever may be pulled
 */
export function addDispatchRoute(app: HttpApp, dispatch: Pick<Dispatch, "traffic"> | null): void {
  app.get(
    "/api/v1/dispatch",
    { schema: { response: { 200: ServiceTrafficListSchema, 503: ProblemSchema } } },
    (_, reply) => {
      // All replicas have the same settings.
      if (dispatch === null) throw new HttpError(503, "dispatch_off", "dispatch.levers is empty");
      const services = dispatch.traffic();
      if (services !== null) return { services: [...services] };
      // Whoever asks again by the same connection gets the same replica.
      void reply.header("connection", "close");
      throw new HttpError(503, "not_leading", "another replica spreads requests");
    },
  );
}
