// The decisions API: what was decided, and why.
import { DecisionListSchema, DecisionSchema, ProblemSchema } from "@isochrone/topology";
import { HttpError } from "@isochrone/runtime/http";
import type { HttpApp } from "@isochrone/runtime/http";
import { Type } from "typebox";
import type { DecisionLog } from "../domain/decision-log.ts";

const MAX_LIMIT = 1_000;
const DEFAULT_LIMIT = 50;

const QuerySchema = Type.Object(
  {
    namespace: Type.Optional(Type.String()),
    pod: Type.Optional(Type.String({ description: "pod name" })),
    limit: Type.Integer({ minimum: 1, maximum: MAX_LIMIT, default: DEFAULT_LIMIT }),
  },
  { additionalProperties: false },
);
const IdSchema = Type.Object({ id: Type.String() });
const PlanListSchema = Type.Object({ plans: Type.Array(Type.Unknown()) }, { $id: "PlanList" });

/** Adds `GET /api/v1/decisions`, `/api/v1/decisions/{id}` and `/api/v1/plans`. */
export function addDecisionRoutes(app: HttpApp, decisions: DecisionLog): void {
  app.get(
    "/api/v1/decisions",
    { schema: { querystring: QuerySchema, response: { 200: DecisionListSchema } } },
    (request) => ({ decisions: decisions.find(request.query) }),
  );
  app.get(
    "/api/v1/decisions/:id",
    { schema: { params: IdSchema, response: { 200: DecisionSchema, 404: ProblemSchema } } },
    (request) => {
      const { id } = request.params;
      const decision = decisions.get(id);
      if (decision === undefined)
        throw new HttpError(404, "not_found", `there is no decision ${id}, or it is no longer kept`);
      return decision;
    },
  );
  // Pods are placed one by one so far: there are no plans, which is an answer and not an error.
  app.get("/api/v1/plans", { schema: { response: { 200: PlanListSchema } } }, () => ({ plans: [] }));
}
