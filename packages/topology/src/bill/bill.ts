import { Type, type Static } from "typebox";
import { NullableNumber, NullableString } from "../schema.ts";
import { checkFigures, checkSchema, compiledLate } from "../validation.ts";

const ReasonSchema = Type.Union(
  [
    Type.Literal("direction"),
    Type.Literal("no_bytes"),
    Type.Literal("no_pods"),
    Type.Literal("no_price"),
    Type.Literal("no_zone"),
    Type.Literal("old"),
  ],
  {
    description:
      "why money is unknown. direction: each way has a price of its own, and bytes aren't told by direction; no_bytes: no source of traffic counts bytes; no_pods: an end has no pod on a node; no_price: no row of the price table is for these places; no_zone: a node has no zone or region; old: the bytes are remembered from before the pods were replaced",
  },
);

const AmountFields = {
  bytesPerSecond: NullableNumber("of both directions together; null: unknown"),
  perMonth: NullableNumber("money for a month of this traffic; null: nothing of it has a price"),
  unpricedBytesPerSecond: Type.Number({
    minimum: 0,
    description: "part of bytesPerSecond that perMonth is without, as its price is unknown",
  }),
} as const;

const ZoneSchema = Type.Object({
  provider: Type.String({ description: "aws, gcp, azure, or own" }),
  region: NullableString("null: the nodes have none"),
  zone: NullableString("null: the nodes have none"),
});

const ZonePairSchema = Type.Object(
  {
    from: ZoneSchema,
    to: ZoneSchema,
    ...AmountFields,
    unknown: Type.Union([ReasonSchema, Type.Null()]),
  },
  { description: "from: zone of the caller, to: zone of the callee" },
);

const WorkloadNameSchema = Type.Object({ namespace: Type.String(), name: Type.String() });

const ChannelSchema = Type.Object({
  source: WorkloadNameSchema,
  target: WorkloadNameSchema,
  ...AmountFields,
  unknown: Type.Union([ReasonSchema, Type.Null()], {
    description: "why perMonth is unknown, or is without a part; null: it is whole",
  }),
  zones: Type.Array(ZonePairSchema),
});

const OutsideLineSchema = Type.Object({
  source: WorkloadNameSchema,
  destination: Type.String({ description: "name of the range of addresses outside of the cluster" }),
  ...AmountFields,
  unknown: Type.Union([ReasonSchema, Type.Null()]),
});

const DestinationSchema = Type.Object({
  destination: Type.String(),
  ...AmountFields,
  unknown: Type.Union([ReasonSchema, Type.Null()]),
});

const PriceSchema = Type.Object({
  provider: Type.String(),
  scope: Type.String(),
  from: Type.String({ description: "region, or how regions begin and then *" }),
  to: NullableString("likewise; null except between regions"),
  out: Type.Number({ description: "where bytes leave" }),
  in: Type.Number({ description: "where bytes arrive" }),
  per: Type.String({ description: "GB: 10^9 bytes, GiB: 2^30 bytes" }),
  currency: Type.String(),
  source: Type.String(),
  date: Type.String(),
});

const UnpricedSchema = Type.Object({
  reason: ReasonSchema,
  provider: NullableString("whose row of the price table is missing; null: a row can't help"),
  scope: NullableString("its scope; null: a row can't help"),
  from: NullableString("region of one end; null: of no use for the row"),
  to: NullableString("region of the other end, between regions only"),
  destination: NullableString("outside of the cluster; null: both ends are in it"),
  bytesPerSecond: Type.Number({ minimum: 0 }),
});

export const BillSchema = Type.Object(
  {
    version: Type.Integer(),
    observedAt: Type.String({ description: "when the graphs were built, RFC 3339" }),
    windowSeconds: Type.Number(),
    currency: Type.String(),
    monthSeconds: Type.Number({ description: "length of the month that money is for: 730 hours" }),
    headline: Type.String({
      description: "the total in a sentence: money, bytes with a price, and what the price table lacks",
    }),
    total: Type.Object({
      ...AmountFields,
      channels: Type.Integer({ description: "with those to the outside" }),
      channelsUnknown: Type.Integer({ description: "channels whose money is unknown, or is without a part" }),
    }),
    channels: Type.Array(ChannelSchema, { description: "the dearest first" }),
    workloads: Type.Array(Type.Object({ ...WorkloadNameSchema.properties, ...AmountFields }), {
      description: "by caller, the dearest first",
    }),
    namespaces: Type.Array(Type.Object({ namespace: Type.String(), ...AmountFields }), {
      description: "by caller, the dearest first",
    }),
    zones: Type.Array(ZonePairSchema, { description: "the dearest first" }),
    outside: Type.Optional(
      Type.Array(OutsideLineSchema, {
        description: "traffic with the outside of the cluster, the dearest first; absent: none is counted",
      }),
    ),
    destinations: Type.Optional(
      Type.Array(DestinationSchema, { description: "the same by destination, the dearest first" }),
    ),
    unpriced: Type.Array(UnpricedSchema, {
      description: "bytes of the total without a price by cause, the most first, at most 20 causes",
    }),
    prices: Type.Array(PriceSchema, {
      description: "rows of the price table that the money is worked out by",
    }),
    leftOut: Type.Integer({ description: "channels and workloads that ?limit= leaves out; sums have them" }),
  },
  { $id: "Bill" },
);

export const PriceListSchema = Type.Object(
  {
    currency: Type.String(),
    prices: Type.Array(PriceSchema, { description: "all rows of the price table" }),
  },
  { $id: "PriceList" },
);

export const BillHistorySchema = Type.Object(
  {
    currency: Type.String(),
    points: Type.Array(Type.Object({ at: Type.String({ description: "RFC 3339" }), ...AmountFields }), {
      description: "the oldest first",
    }),
  },
  { $id: "BillHistory" },
);

export type Bill = Static<typeof BillSchema>;
export type BillHistory = Static<typeof BillHistorySchema>;
export type PriceList = Static<typeof PriceListSchema>;
export type BillReason = Static<typeof ReasonSchema>;
export type BillZone = Static<typeof ZoneSchema>;
export type BillAmount = Pick<Static<typeof ZonePairSchema>, keyof typeof AmountFields>;

const DOCUMENT = "bill";
const schema = compiledLate(BillSchema);
const priceList = compiledLate(PriceListSchema);
const FIGURES = ["bytesPerSecond", "perMonth", "unpricedBytesPerSecond"] as const;

/** Validates a bill. Throws SnapshotError. */
export function parseBill(json: unknown): Bill {
  checkSchema(DOCUMENT, schema, json);
  checkFigures(DOCUMENT, "total", json.total, FIGURES);
  for (const list of ["channels", "workloads", "namespaces", "zones", "outside", "destinations"] as const)
    for (const [index, line] of (json[list] ?? []).entries())
      checkFigures(DOCUMENT, `${list}[${index}]`, line, FIGURES);
  return json;
}

/** Validates a price list, but not the meaning of its rows. Throws SnapshotError. */
export function parsePriceList(json: unknown): PriceList {
  checkSchema("price list", priceList, json);
  return json;
}
