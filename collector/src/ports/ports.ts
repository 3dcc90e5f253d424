import type { TargetKind } from "../domain/families.ts";
import type { PageScope } from "../domain/page-scope.ts";

export { TARGET_KINDS, type TargetKind } from "../domain/families.ts";

/** What a page belongs to; for the numbers of targets, and for people. */
const TARGET_ROLES = ["kubelet", "sidecar", "gateway", "waypoint", "ztunnel", "pod", "static"] as const;
export type TargetRole = (typeof TARGET_ROLES)[number];

/** A page to scrape. */
export interface Target {
  readonly kind: TargetKind;
  readonly url: string;
  /** Who is behind it, for logs and `service.instance.id`; unique per target. */
  readonly instance: string;
  /** @default "static" */
  readonly role?: TargetRole;
  /**
   * Read with the service account's token, and with the kubelet's rules for certificates. Never set for a
   * page of a pod.
   */
  readonly access?: "kubelet";
  /** Whose traffic the page may tell of. @default everybody's: an operator has named the page itself */
  readonly scope?: PageScope;
  /** Whose share of the collector's budgets the page uses. @default the operator's, which goes first */
  readonly namespace?: string;
  /** Whose page it is, where its rows don't say: the source of what they count. */
  readonly pod?: { readonly namespace: string; readonly name: string };
  /** Instance of another page that tells the same: this one is read while that one fails or lacks pods. */
  readonly standsInFor?: string;
}

/** Where targets come from; asked before every round, so it answers from memory. */
export interface TargetSource {
  targets(): readonly Target[];
}

/** Reads one page. Throws ScrapeError. */
export interface PageReader {
  read(
    target: Target,
    options: {
      readonly timeoutMs: number;
      /** Of the page as received, and as unpacked. */
      readonly maxBytes: number;
      readonly signal: AbortSignal;
      /** Called once, before the first part. */
      onContentType?(contentType: string): void;
      /** Gets the page in parts, which it may keep; false: the rest is not wanted. */
      onBytes(chunk: Uint8Array): boolean;
    },
  ): Promise<void>;
}
