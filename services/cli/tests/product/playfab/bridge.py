"""PlayFab's SDK for Python, as it is published: one call a line of standard input, its outcome a line of standard output."""

import importlib
import json
import sys

import playfab.PlayFabSettings as settings

settings.ProductionEnvironmentURL = sys.argv[1]
settings.TitleId = sys.argv[2]

for line in sys.stdin:
    asked = json.loads(line)
    who = asked["as"]
    settings._internalSettings.EntityToken = who.get("entityToken")
    settings._internalSettings.ClientSessionTicket = who.get("sessionTicket")
    settings.DeveloperSecretKey = who.get("secret")
    outcome = {}

    def told(data, error):
        if error is not None:
            # What the SDK could not read is an object of its own.
            outcome["error"] = error if isinstance(error, dict) else vars(error)
        else:
            outcome["data"] = data

    module = importlib.import_module("playfab.PlayFab%sAPI" % asked["module"])
    getattr(module, asked["call"])(asked["request"], told)
    print(json.dumps(outcome), flush=True)
