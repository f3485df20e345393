"""Where an export is written."""


def test_an_export_to_a_file_that_exists_names_it_and_leaves_no_event(sqlite):
    with sqlite.service():
        pass
    file = sqlite.folder / "trail.jsonl"
    sqlite.run("audit", "export", file)
    before = file.read_bytes()
    code, out, err = sqlite.command("audit", "export", file)
    assert (code, out) == (1, "")
    assert err == f"doorward: {file} exists: name another file, or remove it\n"
    assert file.read_bytes() == before
    assert len(sqlite.events("--kind", "audit_exported")) == 1, "that of the first export"
    code, out, err = sqlite.command("audit", "export", sqlite.folder / "missing" / "trail.jsonl")
    assert (code, out) == (1, "") and f"{sqlite.folder}/missing/trail.jsonl" in err, err
