import type { TargetKind } from "../domain/families.ts";
import type { PageScope } from "../domain/page-scope.ts";

export { TARGET_KINDS, type TargetKind } from "../domain/families.ts";

const TARGET_ROLES = ["kubelet", "sidecar", "gateway", "waypoint", "ztunnel", "pod", "static"] as const;
export type TargetRole = (typeof TARGET_ROLES)[number];

export interface Target {
  readonly kind: TargetKind;
  readonly url: string;
  /** Name for logs and `service.instance.id`; unique per target. */
  readonly instance: string;
  readonly role?: TargetRole;
  /** Read with the service account's token and the kubelet's certificate rules. Never set for pods' pages. */
  readonly access?: "kubelet";
  /** Owners whose traffic the page may report. @default anyone's: an operator named the page */
  readonly scope?: PageScope;
  /** Namespace whose share of the budgets it uses. @default the operator's, which goes first */
  readonly namespace?: string;
  readonly pod?: { readonly namespace: string; readonly name: string };
  /** Instance of an equivalent page; this one is read while that one fails or lacks pods. */
  readonly standsInFor?: string;
}

/** Called before every round, so it answers from memory. */
export interface TargetSource {
  targets(): readonly Target[];
}

/** Reads one page. Throws ScrapeError. */
export interface PageReader {
  read(
    target: Target,
    options: {
      readonly timeoutMs: number;
      /** Bounds both the received and the decompressed page. */
      readonly maxBytes: number;
      readonly signal: AbortSignal;
      /** Called once, before the first part. */
      onContentType?(contentType: string): void;
      /** Receives parts, which it may keep; false: stop reading. */
      onBytes(chunk: Uint8Array): boolean;
    },
  ): Promise<void>;
}
