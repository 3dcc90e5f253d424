import {
  CHANNELS_ANNOTATION,
  formatChannels,
  KINDS,
  LABELS,
  MAX_CHANNELS_CHARACTERS,
  PLACEMENT_ENABLED,
  PLACEMENT_LABEL,
  type KubernetesObject,
} from "@isochrone/kubernetes";
import type { SortAlgorithm } from "@isochrone/placement";
import { NO_NETWORK_LIMIT } from "@isochrone/topology";
import type { Application, RouteChannel, ServiceNode } from "./application.ts";
import { ToscaError } from "./errors.ts";

/** Dependencies first: upstream's plugin only considers placed dependencies. */
export const DEFAULT_ALGORITHM: SortAlgorithm = "ReverseKahn";

interface AppGroupOptions {
  readonly algorithm?: SortAlgorithm;
  /**
   * Makes its new pods wait for joint placement by the planner.
   * @default false: as configured for the namespace
   */
  readonly isPlanned?: boolean;
}

export function appGroupOf(
  application: Application,
  { algorithm = DEFAULT_ALGORITHM, isPlanned = false }: AppGroupOptions = {},
): KubernetesObject {
  const { name, namespace, services, channels } = application;
  const annotation = channelsText(application);
  return {
    ...KINDS.appGroup,
    metadata: {
      namespace,
      name,
      ...(isPlanned ? { labels: { [PLACEMENT_LABEL]: PLACEMENT_ENABLED } } : {}),
      ...(channels.length === 0 ? {} : { annotations: { [CHANNELS_ANNOTATION]: annotation } }),
    },
    spec: {
      numMembers: services.length,
      topologySortingAlgorithm: algorithm,
      workloads: services.map((service) => {
        const dependencies = channels.filter(
          ({ source, target }) => source === service && target !== service,
        );
        return {
          workload: reference(service),
          ...(dependencies.length === 0 ? {} : { dependencies: dependencies.map(dependencyOf) }),
        };
      }),
    },
  };
}

export function groupLabels(application: Application, service: ServiceNode): Record<string, string> {
  return { [LABELS.appGroup]: application.name, [LABELS.appGroupWorkload]: service.name };
}

function dependencyOf({ target, minBandwidthBitsPerSecond: bits, maxNetworkCost }: RouteChannel): object {
  return {
    workload: reference(target),
    // Upstream's schema defaults to 0, which every cross-zone pair exceeds.
    maxNetworkCost: maxNetworkCost ?? NO_NETWORK_LIMIT,
    ...(bits === null ? {} : { minBandwidth: String(Math.ceil(bits)) }),
  };
}

function reference({ namespace, name }: ServiceNode): Record<string, string> {
  return { ...KINDS.deployment, namespace, name, selector: name };
}

function channelsText({ namespace, channels, services }: Application): string {
  const text = formatChannels(channels, namespace);
  if (text.length > MAX_CHANNELS_CHARACTERS) {
    const { source } = services[0]!.at;
    throw new ToscaError(
      "too_large",
      { file: source.file, line: null, column: null },
      `the template must have at most ${MAX_CHANNELS_CHARACTERS} bytes of channels as an AppGroup's annotation has them, got ${text.length}`,
    );
  }
  return text;
}
