import { ProblemSchema } from "@isochrone/topology";
import { BillHistorySchema, BillSchema, PriceListSchema } from "@isochrone/topology/bill";
import type { FastifyInstance } from "fastify";
import { Type, type Static } from "typebox";
import { sendJson, Unchanged, WindowQuery, type Fresh } from "../http/fresh.ts";
import { AtQuery } from "../http/history-routes.ts";
import { NoQuery, NOTHING_ELSE } from "../http/query.ts";
import { partOf, type Bills } from "./domain/bills.ts";

const DEFAULT_CHANNELS = 1000;
const MAX_CHANNELS = 100_000;

const BillQuery = Type.Object(
  {
    window: WindowQuery,
    at: AtQuery,
    namespace: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 253,
        description: "Only channels that begin or end there, and its workloads; sums are those of all",
      }),
    ),
    limit: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: MAX_CHANNELS,
        description: `So many channels and workloads, the dearest. Default: ${DEFAULT_CHANNELS}`,
      }),
    ),
  },
  NOTHING_ELSE,
);
type BillQuery = Static<typeof BillQuery>;

export function registerBillRoutes(app: FastifyInstance, fresh: Fresh, bills: Bills): void {
  app.get<{ Querystring: BillQuery }>(
    "/api/v1/graph/bill",
    {
      schema: {
        summary: "What the traffic between workloads costs, by channel, workload, namespace and zones",
        querystring: BillQuery,
        response: { 200: BillSchema, 304: Unchanged, 400: ProblemSchema, 503: ProblemSchema },
      },
    },
    async (request, reply) => {
      const graphs = fresh(request, reply, request.query);
      if (graphs === null) return reply.send();
      const { window = "full", namespace, limit = DEFAULT_CHANNELS } = request.query;
      const part = { limit, ...(namespace === undefined ? {} : { namespace }) };
      const bill = partOf(await bills.of(graphs, window), part);
      return sendJson(reply, JSON.stringify(bill));
    },
  );
  app.get(
    "/api/v1/graph/bill/history",
    {
      schema: {
        summary: "What all traffic cost, minute by minute",
        querystring: NoQuery,
        response: { 200: BillHistorySchema, 400: ProblemSchema },
      },
    },
    (_request, reply) => reply.header("cache-control", "no-store").send(bills.history()),
  );
  app.get(
    "/api/v1/graph/prices",
    {
      schema: {
        summary: "The price table",
        querystring: NoQuery,
        response: { 200: PriceListSchema, 400: ProblemSchema },
      },
    },
    (_request, reply) => {
      const { currency, rows } = bills.prices;
      return reply.header("cache-control", "no-store").send({ currency, prices: rows });
    },
  );
}
