// Commands that carry a change out. Names are DNS labels and need no quotes.
import type { SavingsInput } from "@isochrone/prices";

type Move = Parameters<SavingsInput["commands"]>[1][number];

const NEAR = JSON.stringify({ spec: { trafficDistribution: "PreferSameZone" } });

export function commandsOf(...[services, moves]: Parameters<SavingsInput["commands"]>): string[] {
  return [
    ...services.map(
      ({ namespace, name }) => `kubectl -n ${namespace} patch service ${name} --type merge -p '${NEAR}'`,
    ),
    ...moveCommands(moves),
  ];
}

function moveCommands(moves: readonly Move[]): string[] {
  return [...Map.groupBy(moves, ({ namespace }) => namespace)].map(
    ([namespace, those]) =>
      `isochrone plan ${namespace} --apply --pods ${those.map(({ name }) => name).join(",")}`,
  );
}
