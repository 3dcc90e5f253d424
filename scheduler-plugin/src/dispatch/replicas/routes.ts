import { ReplicaReportSchema, ProblemSchema, type ReplicaReport } from "@isochrone/topology";
import { HttpError, type HttpApp } from "@isochrone/runtime/http";
import { Type } from "typebox";

const Name = Type.String({ minLength: 1, maxLength: 253 });
const MetricSchema = Type.Object(
  { wanted: Type.Integer({ description: "replicas of all zones together" }) },
  { $id: "WantedReplicas" },
);

export function addReplicaRoutes(app: HttpApp, report: (() => ReplicaReport) | null): void {
  const read = (): ReplicaReport => {
    if (report !== null) return report();
    throw new HttpError(503, "replicas_off", "dispatch.levers has no replicas");
  };
  app.get(
    "/api/v1/dispatch/replicas",
    { schema: { response: { 200: ReplicaReportSchema, 503: ProblemSchema } } },
    () => read(),
  );
  app.get(
    "/api/v1/dispatch/replicas/:namespace/:name",
    {
      schema: {
        params: Type.Object({ namespace: Name, name: Name }),
        response: { 200: MetricSchema, 404: ProblemSchema, 503: ProblemSchema },
      },
    },
    ({ params }) => {
      const { namespace, name } = params;
      const found = read().services.find((each) => each.namespace === namespace && each.name === name);
      if (found === undefined || found.mode !== "metric")
        throw new HttpError(
          404,
          "not_found",
          `Service ${namespace}/${name} isn't annotated with isochrone.dev/replicas: metric`,
        );
      // An autoscaler without a number changes nothing.
      const { wanted, state, refused } = found;
      if (wanted === null || state === "stale" || state === "refused")
        throw new HttpError(
          503,
          "unknown_replicas",
          refused?.message ?? "it isn't known how many are wanted",
        );
      return { wanted };
    },
  );
}
