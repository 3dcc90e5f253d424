import { ATTRIBUTE_FIELDS, attributeKey, type AttributeKey } from "@isochrone/telemetry";
import { ByteKeys } from "./byte-keys.ts";
import {
  PROCESS_START,
  SCRAPE_ERRORS,
  wantedFamilies,
  type FamilySelection,
  type WantedFamily,
} from "./families.ts";
import { LabelShapes } from "./label-shape.ts";
import { RowTable } from "./row-table.ts";
import { SeriesTable } from "./series-table.ts";
import { StartTimes } from "./start-times.ts";

export const KIND = { gauge: 0, counter: 1, histogram: 2 } as const;
export type Kind = (typeof KIND)[keyof typeof KIND];

export function kindOfOwner(owner: number): Kind {
  return (owner & 3) as Kind;
}

/** Protobuf field of the attributes in points of a kind. */
export function attributeFieldOf(kind: Kind): number {
  return kind === KIND.histogram ? ATTRIBUTE_FIELDS.histogram : ATTRIBUTE_FIELDS.sum;
}

const BYTES_PER_ROW = 61;
const BYTES_PER_SERIES = 97;

export type Part = "value" | "sum" | "count" | "bucket" | "created" | PagePart;

type PagePart = "processStart" | "scrapeError";

export function isPagePart(part: Part): part is PagePart {
  return part === "processStart" || part === "scrapeError";
}

export class FamilyMemory {
  readonly index: number;
  readonly name: string;
  readonly reduction: WantedFamily["reduction"];
  /** Kept labels, in the reduction's order. */
  readonly keys: readonly AttributeKey[];
  readonly shapes: LabelShapes;

  constructor(index: number, { name, reduction }: WantedFamily) {
    this.index = index;
    this.name = name;
    this.reduction = reduction;
    this.shapes = new LabelShapes(reduction?.type === "counter");
    this.keys = reduction?.labels?.map((label) => attributeKey(label.name)) ?? [];
  }

  owner(kind: Kind): number {
    return this.index * 4 + kind;
  }
}

export interface WantedName {
  readonly family: FamilyMemory;
  readonly part: Part;
}

/** State of one target, bounded by the page limits. `seed`: 32 random bits against forged hash collisions. */
export class TargetMemory {
  readonly selection: FamilySelection;
  readonly families: readonly FamilyMemory[];
  readonly hasPods: boolean;
  readonly rows: RowTable;
  readonly series: SeriesTable;
  readonly startTimes: StartTimes;
  readonly #names: ByNames<WantedName>;
  readonly #declared: ByNames<FamilyMemory>;

  constructor(selection: FamilySelection, seed = 0) {
    this.selection = selection;
    this.families = wantedFamilies(selection).map((family, index) => new FamilyMemory(index, family));
    this.hasPods = this.families.some(({ reduction }) => reduction?.usageRow !== undefined);
    this.rows = new RowTable(seed);
    this.series = new SeriesTable(seed);
    this.startTimes = new StartTimes(selection.kind);
    this.#names = new ByNames(seed);
    this.#declared = new ByNames(seed);
    for (const family of this.families) {
      for (const [name, part] of partsOf(family)) this.#names.add(name, { family, part });
      // OpenMetrics declares a counter without its suffix.
      for (const name of [family.name, family.name.replace(/_total$/, "")]) this.#declared.add(name, family);
    }
    this.#names.add(PROCESS_START, { family: this.families[0]!, part: "processStart" });
    for (const name of SCRAPE_ERRORS)
      this.#names.add(name, { family: this.families[0]!, part: "scrapeError" });
  }

  get memoryBytes(): number {
    const { rows, series } = this;
    const columns = rows.keys.size * BYTES_PER_ROW + series.keys.size * BYTES_PER_SERIES;
    return rows.keys.memoryBytes + series.keys.memoryBytes + columns;
  }

  find(view: DataView, start: number, end: number): WantedName | null {
    return this.#names.find(view, start, end);
  }

  findFamily(view: DataView, start: number, end: number): FamilyMemory | null {
    return this.#declared.find(view, start, end);
  }
}

class ByNames<T> {
  readonly #keys: ByteKeys;
  readonly #values: T[] = [];

  constructor(seed: number) {
    this.#keys = new ByteKeys(seed);
  }

  /** The first of equal names wins. */
  add(name: string, value: T): void {
    const bytes = new TextEncoder().encode(name);
    const view = new DataView(bytes.buffer);
    if (this.#keys.find(0, view, 0, bytes.length) >= 0) return;
    this.#keys.add(0, bytes, 0, bytes.length);
    this.#values.push(value);
  }

  find(view: DataView, start: number, end: number): T | null {
    const slot = this.#keys.find(0, view, start, end);
    return slot < 0 ? null : this.#values[slot]!;
  }
}

/** Sample names of a family. A reduced histogram's bucket lines are skipped. */
function partsOf({ name, reduction }: FamilyMemory): [string, Part][] {
  const type = reduction?.type;
  const parts: [string, Part][] = [[name, "value"]];
  if (type !== "gauge") parts.push([`${name.replace(/_total$/, "")}_created`, "created"]);
  if (type === undefined) parts.push([`${name}_bucket`, "bucket"]);
  if (type === undefined || type === "histogram")
    parts.push([`${name}_sum`, "sum"], [`${name}_count`, "count"]);
  return parts;
}
