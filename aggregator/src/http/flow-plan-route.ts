import type { FastifyInstance, FastifyRequest } from "fastify";
import { FlowPlanSchema, ProblemSchema, type FlowPlan } from "@isochrone/topology";
import { Type, type Static } from "typebox";
import { AggregatorError } from "../ports/errors.ts";
import { isUnchanged } from "./etag.ts";
import { NoQuery } from "./query.ts";

/** Path for the access review of a node's own plan. */
const FLOW_PLAN_REVIEW = "/v1/flow-plan";
/** `EPOCH/GENERATION` of the applied plan, or `GENERATION` with the plan's version in if-none-match. */
const GENERATION_HEADER = "isochrone-flow-generation";

export interface AppliedPlan {
  readonly node: string;
  readonly epoch: string;
  readonly generation: number;
}

export interface FlowPlanSource {
  /** Plans by node. Rejects with an AggregatorError while they are unknown. */
  plans(): Promise<ReadonlyMap<string, FlowPlan>>;
  applied(plan: AppliedPlan): void;
}

const PlanParams = Type.Object({ node: Type.String({ maxLength: 253 }) });
const PlanHeaders = Type.Object({
  [GENERATION_HEADER]: Type.Optional(
    Type.String({
      maxLength: 256,
      description: "The plan whose rules stand on the node: EPOCH/GENERATION, or its generation alone",
    }),
  ),
});

/** Every replica serves the plans of the scheduler-plugin's leader. */
export function registerFlowPlanRoutes(app: FastifyInstance, source: FlowPlanSource): void {
  app.get<{ Params: Static<typeof PlanParams> }>(
    "/api/v1/flow-plan/:node",
    {
      // Not below /api/v1/, because the right to read graphs must not include this.
      config: { reviewedPath: FLOW_PLAN_REVIEW },
      schema: {
        summary: "The flows that a node sends, forwards and receives",
        params: PlanParams,
        querystring: NoQuery,
        headers: PlanHeaders,
        response: {
          200: FlowPlanSchema,
          304: Type.Null({ description: "The manager has this plan" }),
          403: ProblemSchema,
          404: ProblemSchema,
          503: ProblemSchema,
        },
      },
    },
    async (request, reply) => {
      const { node } = request.params;
      refuseOthers(request, node);
      const plan = (await source.plans()).get(node);
      if (plan === undefined) throw new AggregatorError("unknown_node", `there is no node ${node}`);
      const applied = appliedBy(request, plan);
      if (applied !== null) source.applied(applied);
      return isUnchanged(request, reply, `"${plan.version}"`) ? reply.send() : reply.send(plan);
    },
  );
  app.get(
    "/api/v1/flow-plans",
    {
      schema: {
        summary: "The flow plans of all nodes",
        querystring: NoQuery,
        response: {
          200: Type.Object({ plans: Type.Array(FlowPlanSchema) }, { $id: "FlowPlans" }),
          503: ProblemSchema,
        },
      },
    },
    async (_, reply) =>
      reply.header("cache-control", "no-store").send({ plans: [...(await source.plans()).values()] }),
  );
}

/** Limits a stolen node's credentials to its own flows. */
function refuseOthers({ principal }: FastifyRequest, node: string): void {
  if (principal === null || principal.node === null || principal.node === node) return;
  throw new AggregatorError(
    "not_yours",
    `${principal.user} on ${principal.node} must ask for its own node, got ${node}`,
  );
}

function appliedBy({ headers, principal }: FastifyRequest, plan: FlowPlan): AppliedPlan | null {
  const { [GENERATION_HEADER]: header, "if-none-match": etag } = headers;
  const { node } = plan;
  if (typeof header !== "string" || (principal !== null && principal.node !== node)) return null;
  const [, epoch, digits] = /^(?:([\x21-\x7e]{1,128})\/)?(\d{1,16})$/.exec(header) ?? [];
  const generation = Number(digits);
  if (digits === undefined || !Number.isSafeInteger(generation)) return null;
  if (epoch !== undefined) return { node, epoch, generation };
  const isThisPlan = etag === `"${plan.version}"` && generation === plan.generation;
  return isThisPlan ? { node, epoch: plan.epoch, generation } : null;
}
