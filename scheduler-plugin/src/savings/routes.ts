import { MONTH_SECONDS } from "@isochrone/prices";
import type { HttpApp } from "@isochrone/runtime/http";
import { ProblemSchema, type Savings } from "@isochrone/topology";
import { SavingsSchema } from "@isochrone/topology/savings";
import { Type } from "typebox";
import type { SavingsView } from "./savings-view.ts";

const MAX_LINES = 10_000;
const DEFAULT_LINES = 200;

const QuerySchema = Type.Object(
  {
    namespace: Type.Optional(Type.String({ minLength: 1, maxLength: 253 })),
    limit: Type.Integer({
      minimum: 1,
      maximum: MAX_LINES,
      default: DEFAULT_LINES,
      description: "so many workflows and Services, those that save most",
    }),
  },
  { additionalProperties: false },
);

export function addSavingsRoute(app: HttpApp, view: SavingsView | null): void {
  app.get(
    "/api/v1/savings",
    {
      schema: {
        summary: "What would be saved by keeping traffic in its zone, by moving pods, and by both",
        querystring: QuerySchema,
        response: { 200: SavingsSchema, 400: ProblemSchema },
      },
    },
    async ({ query: { namespace, limit } }): Promise<Savings> => {
      if (view === null) return NO_CLUSTER;
      const savings = await view.read();
      const lines = savings.lines.filter((line) => namespace === undefined || line.namespace === namespace);
      const leftOut = savings.leftOut + Math.max(0, lines.length - limit);
      return { ...savings, lines: lines.slice(0, limit), leftOut };
    },
  );
}

const NO_CLUSTER: Savings = {
  observedAt: null,
  currency: "",
  monthSeconds: MONTH_SECONDS,
  trouble: "the scheduler-plugin reads no cluster",
  lines: [],
  leftOut: 0,
};
