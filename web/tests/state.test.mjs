// The address of the page, and the scenario that it stands for.

import assert from "node:assert/strict";
import { test } from "node:test";
import { AS_IS, FILE, FIRST, fromAddress, toAddress, written } from "../src/state.js";

const KNOWN = { shipped: { household: "name = 'household'" }, loads: ["photos-upload"], base: null };

test("an address holds all that was chosen", async () => {
  const own = { ...FIRST, apps: ["valorant", "camera"], off: ["camera"], up: 0.5, players: 4, b: "queue.pie", seed: 3 };
  for (const state of [FIRST, own, { ...FIRST, start: "household", a: "cake" }, { ...FIRST, start: FILE, text: 'name = "é"\n', plan: FIRST.plan }]) {
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
  const state = { ...FIRST, up: 0.75, off: ["netflix"], a: "queue.codel", b: "cake" };
  const { text, overrides } = written(state, "a", KNOWN);
  assert.match(text, /plan = "vdsl-50-10"/);
  assert.match(text, /\{ preset = "photos-upload", set = \{ start = "10s" \} \}/);
  assert.deepEqual(overrides, [["gateway.*", '{ queue = "codel" }'], ["link.up", "750kbit"], ["flow.netflix.enabled", "false"]]);
  assert.deepEqual(written(state, "b", KNOWN).overrides[0], ["policy", "cake"]);
  assert.deepEqual(written({ ...FIRST, start: "family" }, "a", KNOWN), { text: "", file: "family.toml", overrides: [["household", "family"]] });
  assert.equal(written({ ...FIRST, start: "household" }, "a", KNOWN).text, "name = 'household'");
});

test("the buffer of today's boxes is a time at the rate of the line", () => {
  const base = { rate_bps: { up: 10e6, down: 50e6 }, keys: { gateway: { modem: {} }, flow: [] }, flows: [] };
  const { overrides } = written({ ...FIRST, buffer: 100, down: 80, a: AS_IS }, "a", { ...KNOWN, base });
  assert.deepEqual(overrides.slice(0, 2), [["gateway.modem.limit", "125000B"], ["gateway.isp.limit", "1000000B"]]);
});
