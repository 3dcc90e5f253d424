import { loadPrices } from "@isochrone/aggregator";
import { PriceTable } from "@isochrone/prices";
import type { EmbeddedOptions } from "./options.ts";

/** AWS regions near the hosts behind the demo's regions. */
const AWS_REGIONS = { west: "us-west-2", east: "us-east-1", north: "eu-north-1" } as const;

/** Prices of `--prices`, else AWS list prices in the demo's regions, else built-in. Throws SettingsError. */
export function embeddedPrices({
  prices,
  matrix,
  kubeconfig,
}: Pick<EmbeddedOptions, "kubeconfig" | "matrix" | "prices">): PriceTable {
  if (prices !== undefined) return loadPrices(prices);
  const builtIn = PriceTable.of(null);
  if (matrix !== undefined || kubeconfig !== undefined) return builtIn;
  const listed = builtIn.rows.filter(({ provider, to }) => provider === "aws" && (to === null || to === "*"));
  const rows = Object.entries(AWS_REGIONS).flatMap(([region, asRegion]) =>
    listed
      .filter(({ from }) => asRegion.startsWith(from.replace(/\*$/, "")))
      .map((row) => ({
        ...row,
        provider: "own" as const,
        from: region,
        source: `${row.source} of ${asRegion}`,
      })),
  );
  return PriceTable.of({ replace: false, rows, destinations: [] });
}
