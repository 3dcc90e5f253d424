import type { PriceRow } from "../row.ts";

const AWS = {
  provider: "aws",
  per: "GB",
  currency: "USD",
  source: "https://aws.amazon.com/ec2/pricing/on-demand/#Data_Transfer",
} as const;

/** Regions of the commercial partition. China and GovCloud have other price lists. */
const COMMERCIAL = "af- ap- ca- eu- il- me- mx- sa- us-east- us-west-"
  .split(" ")
  .map((prefix) => `${prefix}*`);

const NORTH_AND_WEST = [
  "us-east-1 us-east-2 us-west-1 us-west-2 ca-central-1 eu-central-1 eu-north-1",
  "eu-west-1 eu-west-2 eu-west-3",
].flatMap((names) => names.split(" "));

/** Between zones both ends pay. Internet: price of the first 10 TB per month, ignoring the free 100 GB. */
export const AWS_ROWS: readonly PriceRow[] = [
  ...COMMERCIAL.flatMap((from): PriceRow[] => [
    { ...AWS, scope: "same-zone", from, to: null, out: 0, in: 0, date: "2024-12" },
    { ...AWS, scope: "zone-to-zone", from, to: null, out: 0.01, in: 0.01, date: "2024-12" },
  ]),
  ...NORTH_AND_WEST.flatMap((from): PriceRow[] => [
    { ...AWS, scope: "region-to-region", from, to: "*", out: 0.02, in: 0, date: "2024-12" },
    { ...AWS, scope: "internet", from, to: null, out: 0.09, in: 0, date: "2026-05" },
  ]),
  ...[["us-east-1", "us-east-2"] as const, ["us-east-2", "us-east-1"] as const].map(
    ([from, to]): PriceRow => {
      return { ...AWS, scope: "region-to-region", from, to, out: 0.01, in: 0, date: "2024-12" };
    },
  ),
];
