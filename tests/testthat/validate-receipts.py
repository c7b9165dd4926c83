"""Validates receipts, one JSON object a line, against the schema: an implementation that is not ours."""

import json
import sys

import jsonschema

with open(sys.argv[1], encoding="utf-8") as file:
    schema = json.load(file)
jsonschema.Draft202012Validator.check_schema(schema)
validator = jsonschema.Draft202012Validator(schema)
count = 0
wrong = 0
with open(sys.argv[2], encoding="utf-8") as file:
    for line in file:
        count += 1
        errors = [error.message for error in validator.iter_errors(json.loads(line))]
        if errors:
            wrong += 1
            if wrong <= 5:
                print(line.strip(), *errors[:3], sep="\n  ")
if wrong:
    print(f"{wrong} of {count} receipts invalid")
    sys.exit(1)
print(f"{count} receipts valid")
