import type { PriceRow } from "../row.ts";

const AZURE = {
  provider: "azure",
  per: "GB",
  currency: "USD",
  source: "https://azure.microsoft.com/en-us/pricing/details/bandwidth/",
} as const;

const AMERICA = [
  "eastus eastus2 centralus northcentralus southcentralus westcentralus westus",
  "westus2 westus3 canadacentral canadaeast",
].flatMap((names) => names.split(" "));
const EUROPE = [
  "northeurope westeurope uksouth ukwest francecentral germanywestcentral",
  "italynorth norwayeast polandcentral spaincentral swedencentral switzerlandnorth",
].flatMap((names) => names.split(" "));

/** Within one virtual network. Internet: price of the first 10 TB per month, ignoring the free 100 GB. */
export const AZURE_ROWS: readonly PriceRow[] = [
  ...[...AMERICA, ...EUROPE].flatMap((from): PriceRow[] => [
    { ...AZURE, scope: "same-zone", from, to: null, out: 0, in: 0, date: "2024-05" },
    { ...AZURE, scope: "zone-to-zone", from, to: null, out: 0, in: 0, date: "2024-05" },
    { ...AZURE, scope: "internet", from, to: null, out: 0.087, in: 0, date: "2026-05" },
  ]),
  ...regions(AMERICA, AMERICA, 0.02),
  ...regions(EUROPE, EUROPE, 0.02),
  ...regions(AMERICA, EUROPE, 0.05),
  ...regions(EUROPE, AMERICA, 0.05),
];

function regions(sources: readonly string[], targets: readonly string[], out: number): PriceRow[] {
  return sources.flatMap((from) =>
    targets
      .filter((to) => to !== from)
      .map((to) => ({ ...AZURE, scope: "region-to-region", from, to, out, in: 0, date: "2024-12" })),
  );
}
