// Lenient readers of Kubernetes objects: a value of the wrong type counts as absent.
import type { Named } from "../feasibility/objects/fields.ts";

type Fields = Readonly<Record<string, unknown>>;

export interface ClusterObject {
  readonly kind?: string;
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string;
    readonly uid?: string;
    readonly generation?: number;
    readonly creationTimestamp?: string;
    readonly deletionTimestamp?: string;
    readonly labels?: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
    readonly ownerReferences?: readonly {
      readonly kind: string;
      readonly name: string;
      readonly controller?: boolean;
    }[];
  };
  readonly spec?: Fields;
  readonly status?: Fields;
}

export function fieldsOf<Names extends string = string>(value: unknown): Named<Names> {
  const isFields = typeof value === "object" && value !== null && !Array.isArray(value);
  return (isFields ? value : {}) as Named<Names>;
}

export function listOf<Names extends string = string>(value: unknown): Named<Names>[] {
  return Array.isArray(value) ? value.map((entry) => fieldsOf<Names>(entry)) : [];
}

export function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}

export function countOf(value: unknown): number | null {
  return typeof value === "number" && Number.isInteger(value) ? value : null;
}

/** Age in milliseconds. Null: unknown. */
export function ageMsOf({ metadata }: ClusterObject, nowMs: number): number | null {
  const createdMs = Date.parse(metadata.creationTimestamp ?? "");
  return Number.isNaN(createdMs) ? null : nowMs - createdMs;
}

export function isTrue(object: ClusterObject, condition: string): boolean {
  return listOf<"type" | "status">(fieldsOf<"conditions">(object.status).conditions).some(
    ({ type, status }) => type === condition && status === "True",
  );
}
