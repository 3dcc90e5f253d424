// Relationship types, for which AppGroup has no field.
import { looseFields, looseText, parseJson } from "@isochrone/primitives";
import type { KubernetesObject } from "./port.ts";

/**
 * Annotation of an AppGroup: channels as a JSON list such as `[{"source": "web", "target": "db", "type":
 * "HTTPRoute", "priority": 100}]`. Source and target are workload names, `namespace/name` in other
 * namespaces.
 */
export const CHANNELS_ANNOTATION = "isochrone.dev/channels";

/**
 * Annotation of a generated AppGroup: hash of the spec as written. AppGroups without it are never changed.
 */
export const GENERATED_ANNOTATION = "isochrone.dev/appgroup-generated";

/** Whether the aggregator wrote the AppGroup: it says what was observed and declares nothing. */
export function isGeneratedAppGroup({ metadata }: KubernetesObject): boolean {
  return metadata.annotations?.[GENERATED_ANNOTATION] !== undefined;
}

/**
 * Longer texts are neither written nor read; the API server takes 256 KiB of all annotations of an object
 * together.
 */
export const MAX_CHANNELS_CHARACTERS = 200 * 1024;

interface ChannelEnd {
  readonly namespace: string;
  readonly name: string;
}

export interface AnnotatedChannel {
  readonly source: ChannelEnd;
  readonly target: ChannelEnd;
  readonly priority: number | null;
  readonly relationshipType: string | null;
}

export function formatChannels(channels: readonly AnnotatedChannel[], namespace: string): string {
  const text = (end: ChannelEnd): string =>
    end.namespace === namespace ? end.name : `${end.namespace}/${end.name}`;
  return JSON.stringify(
    channels.map(({ source, target, priority, relationshipType }) => ({
      source: text(source),
      target: text(target),
      ...(relationshipType === null ? {} : { type: relationshipType }),
      ...(priority === null ? {} : { priority }),
    })),
  );
}

/** Parses the annotation; omits entries without both ends. Null: not a JSON list, or too long. */
export function parseChannels(text: string, namespace: string): AnnotatedChannel[] | null {
  if (text.length > MAX_CHANNELS_CHARACTERS) return null;
  let parsed: unknown;
  try {
    parsed = parseJson(text);
  } catch {
    return null;
  }
  if (!Array.isArray(parsed)) return null;
  return parsed.flatMap((item: unknown) => {
    const { source, target, priority, type } = looseFields(item);
    const [from, to] = [endOf(looseText(source), namespace), endOf(looseText(target), namespace)];
    if (from === null || to === null) return [];
    const isPriority = typeof priority === "number" && Number.isFinite(priority) && priority >= 0;
    return [
      {
        source: from,
        target: to,
        priority: isPriority ? priority : null,
        relationshipType: looseText(type) || null,
      },
    ];
  });
}

function endOf(text: string, namespace: string): ChannelEnd | null {
  const at = text.indexOf("/");
  const end =
    at === -1 ? { namespace, name: text } : { namespace: text.slice(0, at), name: text.slice(at + 1) };
  return end.namespace === "" || end.name === "" ? null : end;
}
