import type { PriceRow } from "../row.ts";

const GCP = {
  provider: "gcp",
  per: "GiB",
  currency: "USD",
  source: "https://cloud.google.com/vpc/network-pricing",
} as const;

const AMERICA = ["us-*", "northamerica-*"];
const EUROPE = ["europe-*"];
const CONTINENTS = [...AMERICA, ...EUROPE, "asia-*", "australia-*", "southamerica-*", "me-*", "africa-*"];

/**
 * Between virtual machines by internal addresses. Internet prices depend on the destination, which a row
 * cannot express, so there is none.
 */
export const GCP_ROWS: readonly PriceRow[] = [
  ...CONTINENTS.flatMap((from): PriceRow[] => [
    { ...GCP, scope: "same-zone", from, to: null, out: 0, in: 0, date: "2026-09-20" },
    { ...GCP, scope: "zone-to-zone", from, to: null, out: 0.01, in: 0, date: "2026-09-20" },
  ]),
  ...regions(AMERICA, AMERICA, 0.02),
  ...regions(EUROPE, EUROPE, 0.02),
  ...regions(AMERICA, EUROPE, 0.05),
  ...regions(EUROPE, AMERICA, 0.05),
];

function regions(sources: readonly string[], targets: readonly string[], out: number): PriceRow[] {
  return sources.flatMap((from) =>
    targets.map((to) => ({ ...GCP, scope: "region-to-region", from, to, out, in: 0, date: "2024-12" })),
  );
}
