import { timestamp } from "@isochrone/kubernetes";
import { looseFields, looseList, looseText } from "@isochrone/primitives";
import type { KubernetesObject } from "@isochrone/kubernetes";
import type { Profile } from "../domain/profiles.ts";

type ProfileFields = Record<
  "failure" | "image" | "kind" | "node" | "secondsPerFrame" | "task" | "time" | "work",
  unknown
>;

export function profileStatus(profile: Profile): object {
  const { task, kind, work, image, node, secondsPerFrame, atMs, failure } = profile;
  return {
    task,
    kind,
    work,
    ...(image === null ? {} : { image }),
    node,
    ...(secondsPerFrame === null ? {} : { secondsPerFrame }),
    time: timestamp(atMs),
    ...(failure === null ? {} : { failure }),
  };
}

/** Reads an earlier leader's profiles. Invalid entries are dropped and measured again. */
export function readProfiles({ status }: KubernetesObject): Profile[] {
  const { profiles } = looseFields<Record<"profiles", unknown>>(status);
  return looseList<ProfileFields>(profiles).flatMap((fields) => {
    const [task, kind, work, node] = [fields.task, fields.kind, fields.work, fields.node].map(looseText);
    const atMs = Date.parse(looseText(fields.time));
    const { secondsPerFrame: seconds } = fields;
    const isWhole = [task, kind, work].every((text) => text !== "") && !Number.isNaN(atMs);
    if (!isWhole) return [];
    return [
      {
        task: task!,
        kind: kind!,
        work: work!,
        image: textOf(fields.image),
        node: node!,
        secondsPerFrame: typeof seconds === "number" && seconds > 0 ? seconds : null,
        atMs,
        failure: textOf(fields.failure),
      },
    ];
  });
}

function textOf(value: unknown): string | null {
  return typeof value === "string" && value !== "" ? value : null;
}
