// Parses pods. Fields of a wrong type count as absent: one odd pod must not hide the others.
import {
  meshNames,
  podView,
  type KubernetesObject,
  type PodView,
  type PodSpec,
  type PodStatus,
  type Container,
  type ContainerStatus,
  type Unchecked,
} from "@isochrone/kubernetes";
import { looseFields } from "@isochrone/primitives";
import { addressOf, portOf, type AddressFamily } from "./addresses.ts";

interface ContainerPort {
  readonly name: string;
  readonly port: number;
}

/** A container that runs for the pod's lifetime: ordinary, or a restartable init container. */
export interface PodContainer {
  readonly name: string;
  readonly ports: readonly ContainerPort[];
  readonly running: boolean | null;
}

export interface ReadablePod extends PodView {
  readonly address: string;
  readonly hostNetwork: boolean;
  readonly serviceAccount: string;
  /** Possible workload names in the mesh; see meshNames. */
  readonly workloads: readonly string[];
  readonly containers: readonly PodContainer[];
}

type Fields = Readonly<Record<string, unknown>>;

/** Null if finished or without address. Unready and terminating pods are read for their last counts. */
export function readablePod(pod: KubernetesObject, family: AddressFamily): ReadablePod | null {
  const view = podView(pod);
  const address = addressOf(podAddresses(pod), family);
  if (address === null || view.finished) return null;
  const account = looseFields<PodSpec>(pod.spec).serviceAccountName;
  return {
    ...view,
    address,
    hostNetwork: looseFields<PodSpec>(pod.spec).hostNetwork === true,
    serviceAccount: typeof account === "string" && account !== "" ? account : "default",
    workloads: meshNames(pod),
    containers: containersOf(pod),
  };
}

/** False if the container waits or has ended; without a status the pod's phase decides. */
export function runs({ phase }: ReadablePod, container: PodContainer | undefined): boolean {
  return container?.running ?? phase === "Running";
}

function podAddresses({ status }: KubernetesObject): string[] {
  const { podIP, podIPs } = looseFields<PodStatus>(status);
  const all = [podIP, ...list<{ ip: string }>(podIPs).map(({ ip }) => ip)];
  return all.filter((address) => typeof address === "string");
}

function containersOf(pod: KubernetesObject): PodContainer[] {
  const spec = looseFields<PodSpec>(pod.spec);
  const status = looseFields<PodStatus>(pod.status);
  const states = [
    ...list<ContainerStatus>(status.containerStatuses),
    ...list<ContainerStatus>(status.initContainerStatuses),
  ];
  const lasting = [
    ...list<Container>(spec.containers),
    ...list<Container>(spec.initContainers).filter(({ restartPolicy }) => restartPolicy === "Always"),
  ];
  return lasting.map((container) => {
    const state = states.find(({ name }) => name === container.name)?.state;
    return {
      name: String(container.name),
      ports: list<NonNullable<Container["ports"]>[number]>(container.ports).flatMap(
        ({ name, containerPort }) => {
          const port = portOf(containerPort);
          return port === null ? [] : [{ name: typeof name === "string" ? name : "", port }];
        },
      ),
      running: isFields(state) ? isFields(state.running) : null,
    };
  });
}

// oxlint-disable-next-line typescript/no-generated-empty-object-type -- a T with fields keeps their names
function list<T extends object = Fields>(value: unknown): Unchecked<T>[] {
  return Array.isArray(value) ? value.filter(isFields) : [];
}

function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
