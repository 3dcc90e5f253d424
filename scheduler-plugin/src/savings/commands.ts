// What a person enters to carry a change out. Names are DNS labels: they need no quotes.
import {
  moveOwnerOf,
  MOVES_ANNOTATION,
  PLACEMENT_ENABLED,
  PLACEMENT_LABEL,
  textOfRecords,
} from "@isochrone/kubernetes";
import type { KubernetesObject, MoveRecord } from "@isochrone/kubernetes";
import type { SavingsInput } from "@isochrone/prices";

interface CommandsInput {
  readonly podOf: (namespace: string, name: string) => KubernetesObject | null;
  /** Wall clock, milliseconds. */
  readonly nowMs: number;
}

type Move = Parameters<SavingsInput["commands"]>[1][number];

/** Whoever reads the commands has so long to enter them, milliseconds. */
const RECORD_MS = 3_600_000;

const NEAR = JSON.stringify({ spec: { trafficDistribution: "PreferSameZone" } });

export function commandsOf(input: CommandsInput): SavingsInput["commands"] {
  return (services, moves) => [
    ...services.map(
      ({ namespace, name }) => `kubectl -n ${namespace} patch service ${name} --type merge -p '${NEAR}'`,
    ),
    ...moveCommands(moves, input),
  ];
}

/**
 * As the descheduler does it: the controller says where the replacement is to go, then the pod is evicted. A
 * controller's moves are one annotation.
 */
function moveCommands(moves: readonly Move[], { podOf, nowMs }: CommandsInput): string[] {
  const records = new Map<string, MoveRecord[]>();
  for (const { namespace, name, from, to } of moves) {
    const pod = podOf(namespace, name);
    const owner = pod === null ? null : moveOwnerOf(pod);
    if (owner === null) continue;
    const key = `kubectl -n ${namespace} annotate ${owner.kind.toLowerCase()} ${owner.name}`;
    const record = { podUid: pod?.metadata.uid ?? "", from, to, deadlineMs: nowMs + RECORD_MS };
    records.set(key, [...(records.get(key) ?? []), record]);
  }
  const namespaces = [...new Set(moves.map(({ namespace }) => namespace))];
  return [
    ...namespaces.map(
      (namespace) => `kubectl label namespace ${namespace} ${PLACEMENT_LABEL}=${PLACEMENT_ENABLED}`,
    ),
    ...Array.from(records, ([command, list]) => `${command} ${MOVES_ANNOTATION}='${textOfRecords(list)}'`),
    ...moves.map(({ namespace, name }) => evictionOf(namespace, name)),
  ];
}

function evictionOf(namespace: string, name: string): string {
  const eviction = { apiVersion: "policy/v1", kind: "Eviction", metadata: { namespace, name } };
  return `echo '${JSON.stringify(eviction)}' | kubectl create --raw /api/v1/namespaces/${namespace}/pods/${name}/eviction -f -`;
}
