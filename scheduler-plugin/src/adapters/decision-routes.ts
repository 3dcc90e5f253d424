import { DecisionKindSchema, DecisionListSchema, DecisionSchema, ProblemSchema } from "@isochrone/topology";
import { HttpError } from "@isochrone/runtime/http";
import type { HttpApp } from "@isochrone/runtime/http";
import { Type } from "typebox";
import type { Clock } from "@isochrone/runtime";
import type { Acting } from "../acts/acting.ts";
import { addActRoute } from "../acts/routes.ts";
import { MAX_ASKED_AGAIN } from "../domain/decision-view.ts";
import type { DecisionView } from "../domain/decision-view.ts";
import type { PlanLog } from "../domain/plan-log.ts";

const MAX_LIMIT = 1_000;
const DEFAULT_LIMIT = 50;

const QuerySchema = Type.Object(
  {
    id: Type.Optional(Type.String()),
    namespace: Type.Optional(Type.String()),
    pod: Type.Optional(Type.String({ description: "pod name" })),
    kind: Type.Optional(DecisionKindSchema),
    now: Type.Boolean({
      default: false,
      description: `whether the scorer is asked again with the graphs of now, about the newest ${MAX_ASKED_AGAIN} at most`,
    }),
    limit: Type.Integer({ minimum: 1, maximum: MAX_LIMIT, default: DEFAULT_LIMIT }),
  },
  { additionalProperties: false },
);
const IdSchema = Type.Object({ id: Type.String() });
const PlanQuerySchema = Type.Object(
  {
    kind: Type.Optional(
      Type.Union([Type.Literal("plan"), Type.Literal("proposal")], {
        description:
          "proposal: what would be best for workflows that run, the newest of each; nobody is moved by it. Default: plan, what was planned",
      }),
    ),
    namespace: Type.Optional(Type.String()),
    limit: Type.Integer({ minimum: 1, maximum: MAX_LIMIT, default: DEFAULT_LIMIT }),
  },
  { additionalProperties: false },
);
const NullableText = Type.Union([Type.String(), Type.Null()]);
const CostSchema = Type.Object({
  network: Type.Number({ description: "bytes/s x ms" }),
  pressure: Type.Number({ description: "what the load of the nodes adds, in the same unit" }),
  total: Type.Number(),
  latency: Type.Optional(Type.Number({ description: "of the traffic, whatever decided; bytes/s x ms" })),
  perMonth: Type.Optional(
    Type.Union([Type.Number(), Type.Null()], {
      description: "money for a month of the traffic that has a price; null: nothing of it has",
    }),
  ),
});
export const PlanSchema = Type.Object(
  {
    id: Type.String(),
    at: Type.String({ description: "RFC 3339" }),
    replica: Type.Optional(Type.String({ description: "that planned; absent: the only one" })),
    workflow: Type.String({ description: "namespace/name" }),
    durationMs: Type.Number(),
    cost: Type.Union([CostSchema, Type.Null()]),
    today: Type.Optional(CostSchema),
    savedRatio: Type.Optional(
      Type.Union([Type.Number(), Type.Null()], {
        description:
          "of a proposal: share of today's network cost that the moves save that can be made now, 0 to 1; null where it costs nothing",
      }),
    ),
    gain: Type.Optional(
      Type.Number({ description: "of a proposal: what these moves save together, bytes/s x ms" }),
    ),
    gainError: Type.Optional(Type.Number({ description: "how far `gain` may be off" })),
    perRequest: Type.Optional(
      Type.Union([
        Type.Object(
          { todayMs: Type.Number(), bestMs: Type.Number(), errorMs: Type.Number() },
          { description: "of a proposal: mean round trip of a request, weighed by traffic" },
        ),
        Type.Null(),
      ]),
    ),
    lowerBound: Type.Union([Type.Number(), Type.Null()], { description: "no plan costs less" }),
    ended: Type.Union(
      [
        Type.Literal("optimal"),
        Type.Literal("converged"),
        Type.Literal("deadline"),
        Type.Literal("effort"),
        Type.Literal("infeasible"),
      ],
      {
        description:
          "why the search ended. optimal: no plan costs less; converged: it had stopped finding better plans; deadline: its time was over, or another search was waiting; effort: its effort was spent; infeasible: no node has room for some pod",
      },
    ),
    pods: Type.Array(
      Type.Object({
        name: Type.String(),
        workload: NullableText,
        node: NullableText,
        reason: NullableText,
        decision: Type.Union([Type.String(), Type.Null()], { description: "null: it is a proposal" }),
        from: Type.Optional(Type.String({ description: "of a proposal: where it runs" })),
        step: Type.Optional(
          Type.Number({
            description: "of a proposal: number of its step, from 1; the moves of a step only pay together",
          }),
        ),
        gain: Type.Optional(
          Type.Number({
            description: "of a proposal: what its step saves once the steps before it are made, bytes/s x ms",
          }),
        ),
        gainError: Type.Optional(Type.Number({ description: "how far `gain` may be off" })),
        obstacle: Type.Optional(
          Type.Union([Type.String(), Type.Null()], {
            description:
              "of a proposal: why the move can't be made now, by the descheduler's rules; null: it can",
          }),
        ),
      }),
    ),
    explanation: Type.Array(Type.String()),
  },
  { $id: "Plan" },
);
const PlanListSchema = Type.Object(
  {
    plans: Type.Array(PlanSchema),
    incomplete: Type.Optional(
      Type.Array(Type.String(), { description: "replicas that could not be asked; absent: none" }),
    ),
    rules: Type.Optional(
      Type.Object(
        {
          minPodAgeMs: Type.Number(),
          allowLocalStorage: Type.Boolean(),
          allowStatefulSets: Type.Boolean(),
          allowSingleReplicas: Type.Boolean(),
        },
        { description: "of proposals: the descheduler's settings by which pods may be moved" },
      ),
    ),
  },
  { $id: "PlanList" },
);

interface DecisionRouteParts {
  readonly decisions: DecisionView;
  readonly plans: PlanLog;
  readonly clock: Clock;
  readonly others: { readonly refresh: () => Promise<string[]> } | null;
  readonly acting: Acting;
}

export function addDecisionRoutes(
  app: HttpApp,
  { decisions, plans, clock, others, acting }: DecisionRouteParts,
): void {
  addActRoute(app, { decisions, plans, clock, others, acting });
  const { rules } = acting;
  const incomplete = async (): Promise<{ incomplete?: string[] }> => {
    const silent = (await others?.refresh()) ?? [];
    return silent.length === 0 ? {} : { incomplete: silent };
  };
  app.get(
    "/api/v1/decisions",
    { schema: { querystring: QuerySchema, response: { 200: DecisionListSchema } } },
    async ({ query: { now, ...filter } }) => {
      const missing = await incomplete();
      const times = now ? { nowMs: clock.now(), monotonicMs: clock.monotonic() } : null;
      return { decisions: decisions.find(filter, times), ...missing };
    },
  );
  app.get(
    "/api/v1/decisions/:id",
    { schema: { params: IdSchema, response: { 200: DecisionSchema, 404: ProblemSchema } } },
    async (request) => {
      const { id } = request.params;
      const { incomplete: silent = [] } = decisions.get(id) === undefined ? await incomplete() : {};
      const decision = decisions.get(id);
      if (decision !== undefined) return decision;
      const unasked = silent.length === 0 ? "" : `, or ${silent.join(", ")} has it and could not be asked`;
      throw new HttpError(404, "not_found", `there is no decision ${id}, or it is no longer kept${unasked}`);
    },
  );
  app.get(
    "/api/v1/plans",
    { schema: { querystring: PlanQuerySchema, response: { 200: PlanListSchema } } },
    async ({ query }) => {
      const missing = await incomplete();
      const found = query.kind === "proposal" ? plans.proposals(query) : plans.find(query);
      const isProposed = query.kind === "proposal" && rules !== null;
      const shown = [...found].map((plan) => {
        return { ...plan, pods: [...plan.pods], explanation: [...plan.explanation] };
      });
      return { plans: shown, ...(isProposed ? { rules } : {}), ...missing };
    },
  );
}
