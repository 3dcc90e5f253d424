import { hash53 } from "../../domain/hash.ts";
import { orderOf, remix } from "./circle.ts";
import { OpenCircle } from "./open-circle.ts";
import type { PeerDraft } from "./peer-draft.ts";
import type { PlanNode } from "./rule.ts";

/** Pairs of a node and a zone without a peer, by reason. Their links can only be estimated. */
export interface Uncovered {
  readonly inDegree: number;
  readonly maxZones: number;
}

/** Points per owner. Several points even out the owners' shares of the circle. */
const POINTS = 4;

/** Draws per wanted representative. A draw of a covered zone is void. */
const MAX_DRAWS = 4;

/** Distinct from the salts of circles and rotation. */
const SALTS = { member: 0x5a000001, requester: 0x5a000002, choice: 0x5a000003, zone: 0x5a000004 } as const;

/**
 * Gives each ready node a peer in other zones without one. Hashes decide the order, so that it is stable
 * while nodes come or go.
 * @param hashes one per node
 */
export function addRepresentatives(draft: PeerDraft, hashes: Float64Array, maxZones: number): Uncovered {
  const zones = new Zones(draft, hashes);
  const uncovered = { inDegree: 0, maxZones: 0 };
  if (zones.count === 0) return uncovered;
  for (const place of orderOf(hashes)) {
    if (!draft.nodes[place]!.eligible) continue;
    const covered = zones.coveredBy(place);
    const own = zones.of(place) < 0 ? 0 : 1;
    const missing = zones.count - covered.size;
    const wanted = Math.min(missing, Math.max(0, maxZones - (covered.size - own)));
    const given =
      wanted === missing ? zones.representAll(place, covered) : zones.representSome(place, covered, wanted);
    uncovered.inDegree += wanted - given;
    uncovered.maxZones += missing - wanted;
  }
  return uncovered;
}

/** Key of a zone within its region; null: no zone. */
export function zoneKey({ region, zone }: Pick<PlanNode, "region" | "zone">): string | null {
  return zone === null ? null : `${region ?? ""}\n${zone}`;
}

class Zones {
  readonly #draft: PeerDraft;
  readonly #hashes: Float64Array;
  /** Zone of each eligible node; -1: none. */
  readonly #zoneOf: Int32Array;
  readonly #zoneHashes: number[] = [];
  readonly #members: OpenCircle[];
  readonly #circle: OpenCircle;
  readonly #closed = new Set<number>();

  constructor(draft: PeerDraft, hashes: Float64Array) {
    this.#draft = draft;
    this.#hashes = hashes;
    this.#zoneOf = new Int32Array(hashes.length).fill(-1);
    this.#members = this.#collect().map((members) =>
      circleOf(members, (place) => hashes[place]!, SALTS.member),
    );
    this.#circle = circleOf([...this.#zoneHashes.keys()], (zone) => this.#zoneHashes[zone]!, SALTS.zone);
  }

  get count(): number {
    return this.#members.length;
  }

  of(place: number): number {
    return this.#zoneOf[place]!;
  }

  coveredBy(place: number): Set<number> {
    const covered = new Set([this.of(place), ...this.#draft.chosen[place]!.map((peer) => this.of(peer))]);
    covered.delete(-1);
    return covered;
  }

  /** Returns the number of newly covered zones. */
  representAll(place: number, covered: ReadonlySet<number>): number {
    let given = 0;
    for (let zone = 0; zone < this.count; zone++) {
      if (!covered.has(zone) && this.#represent(place, zone)) given += 1;
    }
    return given;
  }

  representSome(place: number, covered: Set<number>, wanted: number): number {
    const seed = remix(this.#hashes[place]!, SALTS.choice);
    let given = 0;
    for (let draw = 0; draw < MAX_DRAWS * wanted && given < wanted; draw++) {
      const zone = this.#circle.first(remix(seed, draw), (candidate) => this.#closed.has(candidate));
      if (zone < 0) break;
      if (covered.has(zone) || !this.#represent(place, zone)) continue;
      covered.add(zone);
      given += 1;
    }
    return given;
  }

  #represent(place: number, zone: number): boolean {
    const position = remix(remix(this.#hashes[place]!, SALTS.requester), this.#zoneHashes[zone]!);
    const member = this.#members[zone]!.first(position, (candidate) => this.#draft.isFull(candidate));
    if (member < 0) this.#closed.add(zone);
    else this.#draft.addExtra(place, member);
    return member >= 0;
  }

  #collect(): number[][] {
    const { nodes } = this.#draft;
    const zones = new Map<string, number>();
    const members: number[][] = [];
    for (const [place, node] of nodes.entries()) {
      const key = zoneKey(node);
      if (key === null || !node.eligible) continue;
      const zone = zones.get(key) ?? zones.size;
      if (zone === zones.size) {
        zones.set(key, zone);
        this.#zoneHashes.push(hash53(key));
        members.push([]);
      }
      members[zone]!.push(place);
      this.#zoneOf[place] = zone;
    }
    return members;
  }
}

function circleOf(owners: readonly number[], hashOf: (owner: number) => number, salt: number): OpenCircle {
  const positions = new Float64Array(POINTS * owners.length);
  const ownerOf = new Int32Array(positions.length);
  for (const [index, owner] of owners.entries()) {
    const seed = remix(hashOf(owner), salt);
    for (let point = 0; point < POINTS; point++) {
      positions[POINTS * index + point] = remix(seed, point);
      ownerOf[POINTS * index + point] = owner;
    }
  }
  return new OpenCircle(positions, ownerOf);
}
