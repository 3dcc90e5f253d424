import { HttpError } from "@isochrone/runtime/http";
import type { HttpApp } from "@isochrone/runtime/http";
import { ProblemSchema, ServiceTrafficListSchema } from "@isochrone/topology";
import type { Dispatch } from "./controller.ts";

export function addDispatchRoute(app: HttpApp, dispatch: Pick<Dispatch, "traffic"> | null): void {
  app.get(
    "/api/v1/dispatch",
    { schema: { response: { 200: ServiceTrafficListSchema, 503: ProblemSchema } } },
    (_, reply) => {
      // All replicas have the same settings, so none can answer.
      if (dispatch === null) throw new HttpError(503, "dispatch_off", "dispatch.levers is empty");
      const services = dispatch.traffic();
      if (services !== null) return { services: [...services] };
      // A retry on the same connection would reach the same replica.
      void reply.header("connection", "close");
      throw new HttpError(503, "not_leading", "another replica spreads requests");
    },
  );
}
