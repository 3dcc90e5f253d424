import { ActKindSchema, ActListSchema, ProblemSchema, type ActList } from "@isochrone/topology";
import type { Clock } from "@isochrone/runtime";
import { HttpError } from "@isochrone/runtime/http";
import type { HttpApp } from "@isochrone/runtime/http";
import { Type } from "typebox";
import type { DecisionView } from "../domain/decision-view.ts";
import type { PlanLog } from "../domain/plan-log.ts";
import { actingView, type Acting } from "./acting.ts";
import { actsOf, matches } from "./acts.ts";

/** The cost of showing an act grows with its number of candidates. */
const MAX_GROUPED = 1_000;
const MAX_LIMIT = 1_000;
const DEFAULT_LIMIT = 200;

const QuerySchema = Type.Object(
  {
    namespace: Type.Optional(Type.String({ minLength: 1, maxLength: 253 })),
    workload: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 253,
        description: "part of the name of one of its workloads or pods",
      }),
    ),
    kind: Type.Optional(ActKindSchema),
    since: Type.Optional(Type.String({ description: "acts that began from then on, RFC 3339" })),
    until: Type.Optional(Type.String({ description: "acts that began until then, RFC 3339" })),
    withinSeconds: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: 31_536_000,
        description: "acts that began in so many last seconds",
      }),
    ),
    limit: Type.Integer({ minimum: 1, maximum: MAX_LIMIT, default: DEFAULT_LIMIT }),
  },
  { additionalProperties: false },
);

interface ActRouteParts {
  readonly decisions: DecisionView;
  readonly plans: PlanLog;
  readonly clock: Clock;
  readonly acting: Acting;
  /** `refresh` returns the names of replicas that could not be asked. */
  readonly others: { readonly refresh: () => Promise<string[]> } | null;
}

/** Adds `GET /api/v1/acts`. */
export function addActRoute(app: HttpApp, { decisions, plans, clock, others, acting }: ActRouteParts): void {
  app.get(
    "/api/v1/acts",
    {
      schema: {
        summary: "Decisions by the act that they were carried out with, with what was promised and what came",
        querystring: QuerySchema,
        response: { 200: ActListSchema, 400: ProblemSchema },
      },
    },
    async ({ query: { limit, since, until, withinSeconds, ...filter } }): Promise<ActList> => {
      const nowMs = clock.now();
      const fromMs = withinSeconds === undefined ? undefined : nowMs - withinSeconds * 1_000;
      const times = { sinceMs: timeOf("since", since) ?? fromMs, untilMs: timeOf("until", until) };
      const silent = (await others?.refresh()) ?? [];
      const { namespace } = filter;
      const shown = { namespace, limit: MAX_GROUPED };
      const found = decisions.find(shown, null);
      const records = { decisions: found, plans: plans.find(shown), proposals: plans.proposals(shown) };
      const acts = actsOf(records, nowMs).filter((act) => matches(act, { ...filter, ...times }));
      return {
        acts: acts.slice(0, limit),
        leftOut: Math.max(0, acts.length - limit),
        acting: actingView(acting),
        isCut: found.length === MAX_GROUPED,
        ...(silent.length === 0 ? {} : { incomplete: silent }),
      };
    },
  );
}

function timeOf(name: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const ms = /^\d{4}-\d\d-\d\dT/.test(text) ? Date.parse(text) : Number.NaN;
  if (!Number.isNaN(ms)) return ms;
  throw new HttpError(
    400,
    "bad_request",
    `${name} must be a time such as 2026-01-31T12:00:00Z, got ${JSON.stringify(text)}`,
  );
}
