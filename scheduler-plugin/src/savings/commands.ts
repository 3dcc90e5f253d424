// What a person enters to carry a change out. Names are DNS labels: they need no quotes.
import { MOVE_TO_ANNOTATION, PLACEMENT_ENABLED, PLACEMENT_LABEL } from "@isochrone/kubernetes";
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

/** A pod says where its replacement is to go, then it is evicted. */
function moveCommands(moves: readonly Move[]): string[] {
  const namespaces = [...new Set(moves.map(({ namespace }) => namespace))];
  return [
    ...namespaces.map(
      (namespace) => `kubectl label namespace ${namespace} ${PLACEMENT_LABEL}=${PLACEMENT_ENABLED}`,
    ),
    ...moves.flatMap(({ namespace, name, to }) => [
      `kubectl -n ${namespace} annotate --overwrite pod ${name} ${MOVE_TO_ANNOTATION}=${to}`,
      evictionOf(namespace, name),
    ]),
  ];
}

function evictionOf(namespace: string, name: string): string {
  const eviction = { apiVersion: "policy/v1", kind: "Eviction", metadata: { namespace, name } };
  return `echo '${JSON.stringify(eviction)}' | kubectl create --raw /api/v1/namespaces/${namespace}/pods/${name}/eviction -f -`;
}
