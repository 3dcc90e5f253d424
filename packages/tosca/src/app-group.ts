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

/** Dependencies first: upstream's plugin looks only at those that are placed already. */
export const DEFAULT_ALGORITHM: SortAlgorithm = "ReverseKahn";

/** How the AppGroup is to be. */
interface AppGroupOptions {
  /** @default ReverseKahn */
  readonly algorithm?: SortAlgorithm;
  /**
   * Its new pods wait until the planner has placed them together.
   * @default false: as their namespace has it
   */
  readonly isPlanned?: boolean;
}

/**
 * The AppGroup (KEP-260) of an application. Throws ToscaError when it has more channels than an annotation
 * can say.
 */
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

/** By which pods say where they belong. */
export function groupLabels(application: Application, service: ServiceNode): Record<string, string> {
  return { [LABELS.appGroup]: application.name, [LABELS.appGroupWorkload]: service.name };
}

function dependencyOf({ target, minBandwidthBitsPerSecond: bits, maxNetworkCost }: RouteChannel): object {
  return {
    workload: reference(target),
    // Left out it would be 0 by upstream's schema, which every pair across zones exceeds.
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
